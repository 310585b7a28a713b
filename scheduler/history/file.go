package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

var (
	// ErrLocked tells that another process has the file open.
	ErrLocked = errors.New("in use by another process")
	// ErrDamaged tells that the file is not what was written.
	ErrDamaged = errors.New("damaged")
)

// FileConfig says how a File works.
type FileConfig struct {
	Path   string
	Logger hclog.Logger // nil: none

	Limits Limits
	Now    func() time.Time // nil: time.Now

	// WriteDelay is how long changes are gathered before they are written together,
	// which is what a crash may lose.
	WriteDelay time.Duration
	// QueueLimit is how many changes may wait to be written. Beyond it, and after a
	// failed write, everything is written anew instead, so nothing is lost but time.
	QueueLimit int
	// AliveEvery is how often a process with runs going on leaves word that it
	// lives, for the end of runs that it may lose.
	AliveEvery time.Duration
	// LockWait is how long to wait for a process that has the file open.
	LockWait time.Duration
}

// DefaultFileConfig returns the usual configuration for a file at path.
func DefaultFileConfig(path string) FileConfig {
	return FileConfig{
		Path:       path,
		Limits:     DefaultLimits(),
		WriteDelay: 100 * time.Millisecond,
		QueueLimit: 65_536,
		AliveEvery: 30 * time.Second,
		LockWait:   time.Second,
	}
}

// File is a Store in a bbolt file. It reads from memory and writes behind: no method
// but SetPause, ClearPause, Output, Flush and Close waits for the disk. While the disk
// does not take what is written, the store goes on in memory, says so in the log and
// tries again.
type File struct {
	*Memory
	db     *bolt.DB
	writer *writer
	log    hclog.Logger
}

// lostTold is how many lost runs the log names.
const lostTold = 20

// OpenFile opens or creates the file. Runs that were going on when its last user died
// are recorded as Lost. A file that is damaged or in use is an error and left as it is.
func OpenFile(cfg FileConfig) (*File, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = hclog.NewNullLogger()
	}
	f, err := openFile(cfg)
	if err != nil {
		return nil, fmt.Errorf("history file %s: %w", cfg.Path, advise(err))
	}
	return f, nil
}

// advise adds what to do to an error.
func advise(err error) error {
	switch {
	case errors.Is(err, ErrLocked):
		return fmt.Errorf("%w (stop the other agent, or give each a data directory of its own)", err)
	case errors.Is(err, ErrDamaged), errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w (move the file away: the agent then begins a new one, without the runs and the pauses of before)", err)
	}
	return err
}

func openFile(cfg FileConfig) (f *File, err error) {
	db, err := openDB(cfg.Path, cfg.LockWait)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			db.Close()
		}
	}()
	f = &File{Memory: NewMemoryWith(cfg.Limits, cfg.Now), db: db, log: cfg.Logger}
	f.writer = newWriter(cfg, db, f.Memory)
	if err := guard(f.load); err != nil {
		return nil, err
	}
	f.writer.start()
	return f, nil
}

// load fills the memory from the file and closes lost runs.
func (f *File) load() error {
	m := f.Memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.journal = f.writer // what does not fit any more is dropped from the file, too
	err := f.db.Update(func(tx *bolt.Tx) error {
		if err := prepare(tx); err != nil {
			return err
		}
		if err := read(tx.Bucket(bucketRuns), func(key []byte, run *Run) {
			k := &kept[Run]{numberOf(key), *run}
			m.next = max(m.next, k.number)
			m.shelveRun(k)
		}); err != nil {
			return err
		}
		if err := read(tx.Bucket(bucketMissed), func(key []byte, missed *Missed) {
			k := &kept[Missed]{numberOf(key), *missed}
			m.next = max(m.next, k.number)
			m.shelveMissed(k)
		}); err != nil {
			return err
		}
		if err := read(tx.Bucket(bucketPauses), func(_ []byte, pause *Pause) {
			m.pauses[pause.Job] = *pause
		}); err != nil {
			return err
		}
		return f.closeLost(tx)
	})
	m.sweep()
	return err
}

// closeLost records the runs that the last user of the file had going on.
func (f *File) closeLost(tx *bolt.Tx) error {
	m := f.Memory
	var lost []*kept[Run]
	alive := aliveAt(tx)
	if err := read(tx.Bucket(bucketStarted), func(_ []byte, run *Run) {
		run.Outcome = Lost
		run.FinishedAt = run.StartedAt
		if alive.After(run.StartedAt) {
			run.FinishedAt = alive
		}
		run.FailReason = "the agent ended while the job was running"
		m.next++
		lost = append(lost, &kept[Run]{m.next, *run})
	}); err != nil {
		return err
	}
	for i, k := range lost {
		if i < lostTold {
			f.log.Warn("a run is lost: it went on when the agent ended", "job", k.value.Job, "run", k.value.ID, "started", k.value.StartedAt)
		} else if i == lostTold {
			f.log.Warn("more runs are lost", "more", len(lost)-lostTold)
		}
		if err := putJSON(tx.Bucket(bucketRuns), numberKey(k.number), &k.value); err != nil {
			return err
		}
		if err := tx.Bucket(bucketStarted).Delete([]byte(k.value.ID)); err != nil {
			return err
		}
		m.shelveRun(k)
	}
	return nil
}

// SetPause implements Store. After an error the pause is in force, but may not last
// through a restart.
func (f *File) SetPause(pause Pause) error {
	if err := f.Memory.SetPause(pause); err != nil {
		return err
	}
	return f.Flush(context.Background())
}

// ClearPause implements Store. After an error the pause is over, but may come back
// with a restart.
func (f *File) ClearPause(job string) (bool, error) {
	found, err := f.Memory.ClearPause(job)
	if err != nil || !found {
		return found, err
	}
	return true, f.Flush(context.Background())
}

// Output implements Store.
func (f *File) Output(job, id string) ([]Line, error) {
	if lines, err := f.Memory.Output(job, id); len(lines) > 0 || err != nil {
		return lines, err
	}
	lines, err := f.readOutput(id)
	if len(lines) > 0 || err != nil || !f.keeps(job, id) {
		return lines, err
	}
	// Perhaps it is not written yet.
	if err := f.Flush(context.Background()); err != nil {
		return nil, err
	}
	return f.readOutput(id)
}

func (f *File) readOutput(id string) (lines []Line, err error) {
	err = guard(func() error {
		return f.db.View(func(tx *bolt.Tx) error {
			data := tx.Bucket(bucketOutput).Get([]byte(id))
			if data == nil {
				return nil
			}
			return json.Unmarshal(data, &lines)
		})
	})
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		err = ErrClosed
	}
	return lines, err
}

// keeps reports whether the run is among the retained ones.
func (f *File) keeps(job, id string) bool {
	return slices.ContainsFunc(f.Runs(job), func(r Run) bool { return r.ID == id })
}

// Flush returns when everything that was added before is on the disk, or with the
// error that kept it from there.
func (f *File) Flush(ctx context.Context) error { return f.writer.flush(ctx) }

// Close implements Store. Runs that go on will be recorded as Lost.
func (f *File) Close() error {
	f.Memory.Close()
	if !f.writer.stop() {
		return nil // closed before
	}
	err := f.writer.lastErr()
	if closeErr := f.db.Close(); closeErr != nil && err == nil {
		err = closeErr
	}
	return err
}

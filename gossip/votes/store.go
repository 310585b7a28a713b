package votes

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/yacron2/yacron2/election"
)

// DefaultLockWait is how long Open waits for another process to let go of the file.
const DefaultLockWait = 5 * time.Second

// The reasons for which a file is not opened, or not used any longer.
var (
	// ErrLocked tells that another process has the file open.
	ErrLocked = errors.New("in use by another process")
	// ErrDamaged tells that the file is not what was written.
	ErrDamaged = errors.New("damaged")
	// ErrForeign tells that the file has the votes of another node.
	ErrForeign = errors.New("votes of another node")
	// ErrClosed tells that the Store was closed.
	ErrClosed = errors.New("closed")
)

// Config says which file is opened, and for whom.
type Config struct {
	Path string // its directory is made if there is none
	// NodeName is the node whose votes the file has.
	NodeName string
	// LockWait bounds the wait for another process that has the file open; 0 means
	// DefaultLockWait.
	LockWait time.Duration

	now func() time.Time // for tests; nil: time.Now
}

// Store keeps votes in a file. Its methods may be called from any goroutine.
type Store struct {
	path  string
	now   func() time.Time
	began time.Time // when this process opened the file, for the monotonic clock

	mu      sync.Mutex
	db      *file // nil: closed
	head    head  // of the newest transaction
	known   bool  // the file existed before this process
	suspect bool  // a write failed; see renew
	broken  error // why the file can't be used any more; nil if it can
}

// Open opens the votes of a node, or makes an empty file. The error says what to do; a
// file that exists is never overwritten.
func Open(cfg Config) (*Store, error) {
	if cfg.NodeName == "" {
		return nil, errors.New("votes: no node name")
	}
	if cfg.LockWait <= 0 {
		cfg.LockWait = DefaultLockWait
	}
	if cfg.now == nil {
		cfg.now = time.Now
	}
	s := &Store{path: cfg.Path, now: cfg.now, began: cfg.now()}
	if err := s.open(cfg); err != nil {
		return nil, fmt.Errorf("votes file %s: %w", cfg.Path, advise(err, cfg))
	}
	return s, nil
}

// advise adds what to do to an error.
func advise(err error, cfg Config) error {
	var advice string
	switch {
	case errors.Is(err, ErrLocked):
		advice = fmt.Sprintf("waited %v; stop the other agent, or give each a data directory of its own", cfg.LockWait)
	case errors.Is(err, ErrForeign):
		advice = "give each node a data directory of its own; if this node was renamed, move the file away"
	case errors.Is(err, ErrDamaged):
		advice = "move the file away: the node then starts like one without votes, and grants nothing that is due within its first two seconds"
	default:
		return err
	}
	return fmt.Errorf("%w (%s)", err, advice)
}

func (s *Store) open(cfg Config) error {
	first := head{Format: format, Node: cfg.NodeName, Complete: s.fence()}
	made, err := createFile(cfg.Path, first)
	if err != nil {
		return err
	}
	db, health, err := openFile(cfg.Path, cfg.LockWait)
	if err != nil {
		return err
	}
	if err := guard(func() error { return s.adopt(db, cfg.NodeName, health) }); err != nil {
		return errors.Join(err, db.close(err))
	}
	s.db, s.known = db, !made
	return nil
}

// adopt checks a file and takes over its head.
func (s *Store) adopt(db *file, node string, health health) error {
	var votes []election.Vote
	err := db.View(func(tx *bolt.Tx) (err error) {
		s.head, votes, err = read(tx)
		return err
	})
	if err != nil {
		return err
	}
	if s.head.Node != node {
		return fmt.Errorf("%w: it belongs to %q, not to %q", ErrForeign, s.head.Node, node)
	}
	h := s.head
	fence := s.fence()
	if health == doubtful || h.Complete.After(fence) {
		// The newest transaction may be missing; or the clock was ahead when the
		// file was made, and the mark would deny firings for as long as it was.
		h.Complete = fence
	}
	var covered []election.Vote
	for _, v := range votes {
		if !v.Firing.At.After(h.mark()) {
			covered = append(covered, v)
		}
	}
	if h == s.head && len(covered) == 0 {
		return nil
	}
	return db.Update(func(tx *bolt.Tx) error {
		if err := h.remove(tx, covered); err != nil {
			return err
		}
		if err := h.write(tx); err != nil {
			return err
		}
		tx.OnCommit(func() { s.head = h })
		return nil
	})
}

// fence returns the instant up to which votes of an earlier life may be missing, as far
// as the clock knows now: such a life ended before this process began, and could vote
// on firings a little ahead of its clock.
func (s *Store) fence() time.Time {
	now := s.now()
	return now.Round(0).Add(-now.Sub(s.began)).Add(election.ClockSkew).UTC()
}

// Load returns the votes of earlier lives of this node and the instant up to which no
// firing may be granted any more, zero if there is none. known is false if the file was
// made by this process: the node may then have voted without any record.
func (s *Store) Load() (votes []election.Vote, lowWater time.Time, known bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return nil, time.Time{}, false, s.wrap(err)
	}
	var h head
	err = s.do(func() error {
		return s.db.View(func(tx *bolt.Tx) (err error) {
			h, votes, err = read(tx)
			return err
		})
	})
	if err != nil {
		return nil, time.Time{}, false, s.wrap(err)
	}
	return votes, h.mark(), s.known, nil
}

// Append returns when all of the votes are on disk. After an error none of them may
// count; the Store can be used on, and tries to mend what is wrong at the next call.
// One-shots are not kept.
func (s *Store) Append(votes []election.Vote) error {
	return s.update(func(tx *bolt.Tx, h *head) error { return h.add(tx, votes) })
}

// Prune forgets votes and raises the low-water mark, in one step.
func (s *Store) Prune(p election.Pruning) error {
	return s.update(func(tx *bolt.Tx, h *head) error {
		if p.LowWater.After(h.LowWater) {
			h.LowWater = p.LowWater.Round(0).UTC()
		}
		return h.remove(tx, p.Votes)
	})
}

// update runs one transaction that changes the votes, and their head.
func (s *Store) update(change func(*bolt.Tx, *head) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(); err != nil {
		return s.wrap(err)
	}
	if s.suspect {
		if err := s.renew(); err != nil {
			return s.wrap(fmt.Errorf("writing it anew: %w", err))
		}
	}
	h := s.head
	if fence := s.fence(); !s.known && fence.After(h.Complete) {
		h.Complete = fence // the clock was corrected meanwhile
	}
	err := s.do(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			if err := change(tx, &h); err != nil {
				return err
			}
			return h.write(tx)
		})
	})
	if err != nil {
		s.suspect = true
		return s.wrap(err)
	}
	s.head = h
	return nil
}

// usable returns why nothing can be done. mu is held.
func (s *Store) usable() error {
	if s.db == nil {
		return ErrClosed
	}
	return s.broken
}

// do runs what uses the file. What a damaged file does to its reader is an error then,
// and the file is not touched again. mu is held.
func (s *Store) do(what func() error) error {
	err := guard(what)
	if errors.Is(err, ErrDamaged) {
		s.broken = err
	}
	return err
}

// renew copies the votes into a new file, which takes the place of the old one. After a
// failed write or sync the kernel may have dropped what it could not write and still
// show it as written, so that a sync that succeeds later proves nothing. mu is held.
func (s *Store) renew() error {
	fresh, temp, err := newFile(s.path)
	if err != nil {
		return err
	}
	defer os.Remove(temp) // unless it has got its name
	var h head
	err = s.do(func() error {
		return s.db.View(func(old *bolt.Tx) error {
			var votes []election.Vote
			if h, votes, err = read(old); err != nil {
				return err
			}
			return fresh.Update(func(tx *bolt.Tx) error { return fill(tx, h, votes) })
		})
	})
	// The new file is locked before it gets its name, so that nobody else takes it.
	if err == nil {
		err = os.Rename(temp, s.path)
	}
	if err != nil {
		return errors.Join(err, fresh.Close())
	}
	old := s.db
	s.db, s.head = fresh, h
	// Without this the old file might be back after a crash, and miss what is
	// appended from here on.
	if err := syncDir(s.path); err != nil {
		return errors.Join(err, old.Close())
	}
	s.suspect = false
	return old.Close()
}

func (s *Store) wrap(err error) error { return fmt.Errorf("votes file %s: %w", s.path, err) }

// Close ends the use of the file. Every other method fails from then on.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	db := s.db
	s.db = nil
	if db == nil {
		return nil
	}
	if err := db.close(s.broken); err != nil {
		return s.wrap(err)
	}
	return nil
}

package history

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The buckets of the file. Values are JSON; runs and missed firings are keyed by their
// number as eight bytes, big endian, started runs and output by the run's id, pauses by
// the job's name.
var (
	bucketMeta    = []byte("meta")
	bucketRuns    = []byte("runs")
	bucketMissed  = []byte("missed")
	bucketStarted = []byte("started")
	bucketOutput  = []byte("output")
	bucketPauses  = []byte("pauses")

	keyFormat = []byte("format")
	keyAlive  = []byte("alive") // RFC 3339: when the agent last wrote
)

// format is the version of this layout.
const format = "1"

// openDB opens the file, and creates it as a whole or not at all.
func openDB(path string, lockWait time.Duration) (db *bolt.DB, err error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, err
		}
	}
	err = guard(func() (err error) {
		db, err = open(path, lockWait)
		return err
	})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, ErrLocked
	}
	return db, err
}

func open(path string, lockWait time.Duration) (*bolt.DB, error) {
	return bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      max(lockWait, time.Millisecond), // 0 would wait for ever
		FreelistType: bolt.FreelistMapType,
		NoStatistics: true,
	})
}

// create makes an empty file under another name first: a crash half way would leave
// one that cannot be opened.
func create(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer os.Remove(temp)
	if err := f.Close(); err != nil {
		return err
	}
	db, err := open(temp, time.Second)
	if err != nil {
		return err
	}
	if err := db.Close(); err != nil {
		return err
	}
	// Unlike a rename, a link does not replace what another process made meanwhile.
	if err := os.Link(temp, path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// guard turns what a damaged file does to its reader, panics and memory faults, into
// an error.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return do()
}

// prepare makes what is missing and checks the format.
func prepare(tx *bolt.Tx) error {
	for _, name := range [][]byte{bucketMeta, bucketRuns, bucketMissed, bucketStarted, bucketOutput, bucketPauses} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	meta := tx.Bucket(bucketMeta)
	switch found := meta.Get(keyFormat); {
	case found == nil:
		return meta.Put(keyFormat, []byte(format))
	case string(found) != format:
		return fmt.Errorf("format %q is not known to this version, which writes %q", found, format)
	}
	return nil
}

// read decodes every value of a bucket in the order of their keys.
func read[T any](b *bolt.Bucket, take func(key []byte, value *T)) error {
	return b.ForEach(func(key, data []byte) error {
		var value T
		if err := json.Unmarshal(data, &value); err != nil {
			return fmt.Errorf("%w: record %q: %w", ErrDamaged, key, err)
		}
		take(key, &value)
		return nil
	})
}

func putJSON(b *bolt.Bucket, key []byte, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return b.Put(key, data)
}

func numberKey(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func numberOf(key []byte) uint64 {
	if len(key) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(key)
}

func aliveAt(tx *bolt.Tx) time.Time {
	at, err := time.Parse(time.RFC3339Nano, string(tx.Bucket(bucketMeta).Get(keyAlive)))
	if err != nil {
		return time.Time{}
	}
	return at
}

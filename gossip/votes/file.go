package votes

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// errPanicked tells that bbolt gave up in the middle of something, and may hold locks.
var errPanicked = fmt.Errorf("%w: it cannot be read", ErrDamaged)

// guard turns what a damaged file does to its reader, panics and memory faults, into
// an error.
func guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanicked, p)
		}
	}()
	return do()
}

// file is an open and locked bbolt file.
type file struct {
	*bolt.DB
	handle *os.File
}

// openBolt opens a file with bbolt, which locks it.
func openBolt(path string, lockWait time.Duration) (*file, error) {
	f := new(file)
	err := guard(func() (err error) {
		f.DB, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:      max(lockWait, time.Millisecond), // 0 would wait for ever
			FreelistType: bolt.FreelistMapType,
			NoStatistics: true,
			OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
				f.handle, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
				return f.handle, err
			},
		})
		return err
	})
	return f, err
}

// close closes the file after err, or after nothing went wrong. After a panic bbolt may
// hold its own locks for ever, so the file stays open, and locked, until the process
// ends; nothing else can be done with it anyway.
func (f *file) close(err error) error {
	if errors.Is(err, errPanicked) {
		return nil
	}
	return f.Close()
}

// createFile makes the file, and its directory, if there is none. It is made under
// another name first, so that it is there as a whole or not at all.
func createFile(path string, h head) (made bool, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return false, err
	}
	db, temp, err := newFile(path)
	if err != nil {
		return false, err
	}
	defer os.Remove(temp)
	err = db.Update(func(tx *bolt.Tx) error { return fill(tx, h, nil) })
	if err := errors.Join(err, db.Close()); err != nil {
		return false, err
	}
	// Unlike a rename, a link does not replace what another process made meanwhile.
	switch err := os.Link(temp, path); {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, syncDir(path)
}

// newFile makes an empty file beside path, for its owner only, and locks it.
func newFile(path string) (db *file, temp string, err error) {
	empty, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*")
	if err != nil {
		return nil, "", err
	}
	temp = empty.Name()
	if err = empty.Close(); err == nil {
		db, err = openBolt(temp, DefaultLockWait)
	}
	if err != nil {
		return nil, "", errors.Join(err, os.Remove(temp))
	}
	return db, temp, nil
}

// syncDir makes the names in the directory of path durable.
func syncDir(path string) error {
	if runtime.GOOS == "windows" {
		return nil // it has no such call
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// openFile opens an existing file and locks it.
func openFile(path string, lockWait time.Duration) (*file, health, error) {
	until := time.Now().Add(lockWait)
	for {
		db, health, err := openOnce(path, time.Until(until))
		if !errors.Is(err, errReplaced) {
			return db, health, err
		}
	}
}

// errReplaced tells that a file got its name while the lock of the one before was
// awaited.
var errReplaced = errors.New("the file was replaced")

func openOnce(path string, lockWait time.Duration) (db *file, h health, err error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, errors.New("it is not a regular file")
	case info.Size() == 0:
		return nil, 0, fmt.Errorf("%w: it is empty", ErrDamaged) // bbolt would fill it
	}
	db, err = openBolt(path, lockWait)
	var system syscall.Errno
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, 0, ErrLocked
	case errors.As(err, &system), errors.Is(err, ErrDamaged):
		return nil, 0, err
	case err != nil: // what bbolt finds wrong has no common type
		return nil, 0, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	named, err := os.Stat(path)
	if err == nil {
		var locked fs.FileInfo
		if locked, err = db.handle.Stat(); err == nil && !os.SameFile(named, locked) {
			err = errReplaced
		}
	}
	if err == nil {
		h, err = examine(db.handle)
	}
	if err != nil {
		return nil, 0, errors.Join(err, db.Close())
	}
	return db, h, nil
}

// health is what the meta pages of a file say of it.
type health int

const (
	sound    health = iota
	doubtful        // one of the two is damaged: the newest transaction may be missing
)

// The layout of a bbolt file as far as it is looked at here. Pages 0 and 1 describe the
// newest two transactions, each with a sum over itself: those of even number stand on page
// 0, the others on page 1. bbolt takes the newer one that is whole, and would not mind if
// that is not the newest.
const (
	metaAt      = 16 // behind the page's header
	metaLen     = 64
	metaMagic   = 0xED0CDAED
	pageSizeAt  = 8
	pagesAt     = 40 // the number of pages in use
	txAt        = 48
	sumAt       = 56
	maxPageSize = 64 << 10
)

// examine looks at the meta pages and the size of the file.
func examine(f *os.File) (health, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	var metas [][]byte
	first, err := readMeta(f, 0, 0)
	if err != nil {
		return 0, err
	}
	if first != nil {
		metas = append(metas, first)
	}
	for size := int64(1 << 10); size <= maxPageSize; size *= 2 {
		second, err := readMeta(f, size, 1)
		if err != nil {
			return 0, err
		}
		if second != nil && int64(binary.NativeEndian.Uint32(second[pageSizeAt:])) == size {
			metas = append(metas, second)
			break
		}
	}
	var size uint64 // as the newest one has it
	var newest uint64
	for _, m := range metas {
		if tx := binary.NativeEndian.Uint64(m[txAt:]); tx >= newest {
			newest = tx
			size = binary.NativeEndian.Uint64(m[pagesAt:]) * uint64(binary.NativeEndian.Uint32(m[pageSizeAt:]))
		}
	}
	switch {
	case len(metas) == 0:
		return 0, fmt.Errorf("%w: neither of its first two pages is whole", ErrDamaged)
	case uint64(info.Size()) < size: //nolint:gosec // no file is shorter than nothing
		return 0, fmt.Errorf("%w: it has %d bytes and should have %d", ErrDamaged, info.Size(), size)
	case len(metas) == 1:
		return doubtful, nil
	}
	return sound, nil
}

// readMeta returns the description at an offset, nil if it is not whole, or that of another
// page.
func readMeta(f *os.File, at int64, page uint64) ([]byte, error) {
	m := make([]byte, metaLen)
	if _, err := f.ReadAt(m, at+metaAt); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	h.Write(m[:sumAt])
	if binary.NativeEndian.Uint32(m) != metaMagic || binary.NativeEndian.Uint64(m[sumAt:]) != h.Sum64() ||
		binary.NativeEndian.Uint64(m[txAt:])%2 != page {
		return nil, nil
	}
	return m, nil
}

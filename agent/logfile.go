package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
)

// logFileMode lets the agent's group read the log, as log collectors want to.
const logFileMode = 0o640

// logFile appends to a file that is renamed and begun anew when it has grown: FILE
// becomes FILE.1, FILE.1 becomes FILE.2, and so on. A file that somebody else has moved
// away or removed, as logrotate does, is begun anew with the next line. What cannot be
// written there goes to the fallback, so that no line is lost. Write is safe for
// concurrent use.
type logFile struct {
	path     string
	maxSize  int64 // bytes; 0 never renames
	maxFiles int   // renamed files that are kept
	fallback io.Writer

	mu      sync.Mutex
	file    *os.File // nil: closed
	info    fs.FileInfo
	size    int64
	failing bool // the newest write went to the fallback
}

// openLogFile opens or creates the file.
func openLogFile(path string, maxSize int64, maxFiles int, fallback io.Writer) (*logFile, error) {
	f := &logFile{path: path, maxSize: maxSize, maxFiles: maxFiles, fallback: fallback}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

// open opens the path anew; the file that was open before is closed only then.
func (f *logFile) open() error {
	file, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, logFileMode)
	if err != nil {
		return fmt.Errorf("log file: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("log file: %w", err), file.Close())
	}
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file, f.info, f.size = file, info, info.Size()
	return nil
}

// Write appends one line.
func (f *logFile) Write(line []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return f.fallback.Write(line)
	}
	err := f.prepare(int64(len(line)))
	if err == nil {
		var n int
		n, err = f.file.Write(line)
		f.size += int64(n)
	}
	if err != nil {
		if !f.failing {
			f.failing = true
			_, _ = fmt.Fprintf(f.fallback, "the log cannot be written to its file and goes here: %v\n", err)
		}
		return f.fallback.Write(line)
	}
	f.failing = false
	return len(line), nil
}

// prepare makes sure that the path is the open file, and that it has room for a line.
func (f *logFile) prepare(line int64) error {
	now, err := os.Stat(f.path)
	if err != nil || !os.SameFile(now, f.info) {
		return f.open()
	}
	if !f.info.Mode().IsRegular() || f.maxSize == 0 || f.size == 0 || f.size+line <= f.maxSize {
		return nil
	}
	// Others may write to the same file.
	if f.size = now.Size(); f.size+line <= f.maxSize {
		return nil
	}
	if err := f.rotate(); err != nil {
		// It grows on, and the next attempt comes when it has grown as much again.
		f.size = 0
		_, _ = fmt.Fprintf(f.fallback, "the log file cannot be renamed and grows on: %v\n", err)
		return nil
	}
	return f.open()
}

// rotate renames the file and the older ones; the oldest is replaced.
func (f *logFile) rotate() error {
	for i := f.maxFiles - 1; i >= 1; i-- {
		if err := os.Rename(f.numbered(i), f.numbered(i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(f.path, f.numbered(1))
}

func (f *logFile) numbered(i int) string { return f.path + "." + strconv.Itoa(i) }

// Close closes the file; what is written later goes to the fallback.
func (f *logFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

package run

import (
	"io"
	"os"
	"sync"
)

// Output makes a writer safe for many runs at once. The zero value is not usable.
type Output struct {
	mu sync.Mutex // one Write at a time, so that lines of different runs do not mix
	w  io.Writer
}

// NewOutput returns an Output that writes to w.
func NewOutput(w io.Writer) *Output { return &Output{w: w} }

// Write writes p as a whole before any other Write begins.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(p)
}

// fileOf returns the file behind a writer, or nil.
func fileOf(w io.Writer) *os.File {
	switch w := w.(type) {
	case *os.File:
		return w
	case *Output:
		return fileOf(w.w)
	}
	return nil
}

//go:build !linux

package run

import "os"

// launchFiles are the files that a child is started with.
type launchFiles struct {
	files [3]*os.File
	own   []*os.File // to be closed once the child has them
}

// open makes the null device the standard files.
func (l *launch) open() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	l.own = append(l.own, null)
	l.files = [...]*os.File{null, null, null}
	return nil
}

// pipe makes number i the write end of a pipe that s reads.
func (l *launch) pipe(i int, s *stream) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	s.file = r
	l.files[i] = w
	l.own = append(l.own, w)
	return nil
}

// inherit makes number i the same as f.
func (l *launch) inherit(i int, f *os.File) { l.files[i] = f }

func (l *launch) close() {
	for _, f := range l.own {
		f.Close()
	}
}

// pipe is the read end of a stream.
type pipe struct{ file *os.File }

// pump reads the stream to its end, or until the file is closed under it.
func (s *stream) pump() {
	defer s.finish()
	defer s.file.Close()
	chunk := make([]byte, chunkSize)
	for {
		n, err := s.file.Read(chunk)
		if n > 0 {
			s.take(chunk[:n])
		}
		if err != nil {
			return
		}
	}
}

// discard gives up a stream whose run was not started.
func (s *stream) discard() { s.file.Close() }

// cut closes the stream under whoever writes.
func (s *stream) cut() { s.file.Close() }

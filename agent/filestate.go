package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// fileState tells one content of a file from the next without reading it.
type fileState struct {
	exists   bool
	modified time.Time
	size     int64
	mode     fs.FileMode
	target   string // what a symbolic link leads to: projected volumes swap links
}

// stampFiles looks at every file.
func stampFiles(files []string) map[string]fileState {
	stamps := make(map[string]fileState, len(files))
	for _, name := range files {
		stamps[name] = stateOf(name)
	}
	return stamps
}

// stateOf looks at one file.
func stateOf(name string) fileState {
	info, err := os.Stat(name)
	if err != nil {
		return fileState{exists: !errors.Is(err, fs.ErrNotExist)}
	}
	// A failing EvalSymlinks leaves the target empty: then the rest must tell.
	target, _ := filepath.EvalSymlinks(name)
	return fileState{exists: true, modified: info.ModTime(), size: info.Size(), mode: info.Mode(), target: target}
}

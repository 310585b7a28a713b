//go:build !unix

package votes

import "errors"

// fillDisk sees a disk that is full for a while, which can't be had here.
func fillDisk(string, uint64) error { return errors.ErrUnsupported }

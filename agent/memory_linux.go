package agent

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseCode lets go of the pages of this program's code. The start of a program runs
// through nearly all of its packages, and with each page the kernel maps the fifteen
// around it, until most of the code is resident, of which an idle agent uses little.
// What is used comes back by itself, from the page cache.
//
// Code is read-only and backed by its file, so letting go of it loses nothing. That is
// not so of data, even of constants: a program that can be loaded anywhere has written
// into them.
func releaseCode() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return // nothing depends on it
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		if start, size, ok := codeIn(line, program); ok {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, start, size, unix.MADV_DONTNEED)
		}
	}
}

// codeIn reads a line of /proc/PID/maps: a range of addresses, permissions, offset,
// device, inode, path. It reports the range if it is code of the program.
func codeIn(line, program string) (start, size uintptr, ok bool) {
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 6)
	if len(fields) < 6 || fields[1] != "r-xp" || strings.TrimLeft(fields[5], " ") != program {
		return 0, 0, false
	}
	low, high, _ := strings.Cut(fields[0], "-")
	from, err := strconv.ParseUint(low, 16, strconv.IntSize)
	to, err2 := strconv.ParseUint(high, 16, strconv.IntSize)
	if err != nil || err2 != nil || to <= from {
		return 0, 0, false
	}
	return uintptr(from), uintptr(to - from), true
}

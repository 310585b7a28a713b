package agent

import (
	"os"
	"strings"
	"testing"
)

func TestReleaseCode(t *testing.T) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(maps)) {
		start, size, ok := codeIn(line, program)
		if !ok {
			continue
		}
		found++
		if start == 0 || size < 1<<20 {
			t.Errorf("code of %d bytes at %x: %s", size, start, line)
		}
	}
	if found == 0 {
		t.Errorf("this program has no code:\n%s", maps)
	}
	releaseMemory()
	for _, line := range []string{
		"", "x", "1000-2000 r-xp 0 0:0 1 /other\n", "1000-2000 r--p 0 0:0 1 /p\n", "1000-2000 rw-p 0 0:0 1 /p\n",
		"2000-1000 r-xp 0 0:0 1 /p\n", "zz-2000 r-xp 0 0:0 1 /p\n", "1000 r-xp 0 0:0 1 /p\n",
	} {
		if _, _, ok := codeIn(line, "/p"); ok {
			t.Errorf("%q is taken for code", line)
		}
	}
	if start, size, ok := codeIn("1000-3000 r-xp 00000000 08:01 17         /a folder/p\n", "/a folder/p"); !ok || start != 0x1000 || size != 0x2000 {
		t.Errorf("%x %x %v", start, size, ok)
	}
}

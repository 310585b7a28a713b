package run

import (
	"fmt"
	"strings"
)

// retainedBytes bounds the text retained of one stream. It is far above what the
// default of 4,096 lines needs for lines of ordinary length, and keeps a flood of
// lines of megabytes from taking all memory.
const retainedBytes = 32 << 20

// retention keeps the beginning and the end of a stream.
type retention struct {
	headLines int // still to be kept at the beginning
	head      []byte
	tail      lineRing
	discarded int
	open      bool // the last line had no newline
}

func newRetention(saveLimit int) retention {
	head := saveLimit / 2
	return retention{
		headLines: head,
		tail:      lineRing{maxLines: saveLimit - head, maxBytes: retainedBytes / 2},
	}
}

// add takes a line without its newline; terminated says whether it had one.
func (r *retention) add(line []byte, terminated bool) {
	r.open = !terminated
	if r.tail.maxLines <= 0 {
		r.discarded++
		return
	}
	if r.headLines > 0 && len(r.head)+len(line) < retainedBytes/2 {
		r.headLines--
		r.head = append(append(r.head, line...), '\n')
		return
	}
	r.headLines = 0 // the beginning ends at the first line that did not fit
	r.discarded += r.tail.push(line, 0)
}

// size is the length of what text returns, more or less.
func (r *retention) size() int { return len(r.head) + r.tail.used() + r.tail.count }

// text joins what was retained.
func (r *retention) text() string {
	if len(r.head) == 0 && r.tail.count == 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(r.size() + 64)
	b.Write(r.head)
	if r.discarded > 0 && r.tail.count > 0 {
		fmt.Fprintf(&b, "[... %d lines dropped ...]\n", r.discarded)
	}
	r.tail.each(0, func(line []byte, _ uint8) bool {
		b.Write(line)
		b.WriteByte('\n')
		return true
	})
	if r.open {
		return strings.TrimSuffix(b.String(), "\n")
	}
	return b.String()
}

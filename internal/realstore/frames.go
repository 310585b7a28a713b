package realstore

import (
	"bytes"
	"encoding/binary"
	"sync/atomic"
)

// preface is what a client of HTTP/2 sends first.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	frameHeader = 9 // bytes
	dataFrame   = 0 // type
)

// frameCounter counts the messages in what a client sends over one connection of
// HTTP/2: the frames with data, of which gRPC sends one for each message as small as
// those of a lease. A connection of another protocol has none.
type frameCounter struct {
	count *atomic.Uint64

	started bool   // the preface has passed
	foreign bool   // it has not: nothing to count
	head    []byte // of what comes next, as far as it has come
	skip    int    // payload of the present frame still to come
}

// feed takes the next piece.
func (c *frameCounter) feed(data []byte) {
	for len(data) > 0 && !c.foreign {
		if n := min(c.skip, len(data)); n > 0 {
			c.skip -= n
			data = data[n:]
			continue
		}
		want := frameHeader
		if !c.started {
			want = len(preface)
		}
		n := min(want-len(c.head), len(data))
		c.head, data = append(c.head, data[:n]...), data[n:]
		if len(c.head) < want {
			return
		}
		c.take()
	}
}

// take looks at a head that is whole.
func (c *frameCounter) take() {
	if !c.started {
		c.started, c.foreign = true, !bytes.Equal(c.head, []byte(preface))
	} else {
		length := binary.BigEndian.Uint32(append([]byte{0}, c.head[:3]...))
		c.skip = int(length)
		if c.head[3] == dataFrame && length > 0 {
			c.count.Add(1)
		}
	}
	c.head = c.head[:0]
}

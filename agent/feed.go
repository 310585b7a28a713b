package agent

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/yacron2/yacron2/api"
)

// feed keeps the newest of what is told for any number of readers. Each reads at its own
// pace from the one ring, so that a reader costs nothing but itself, and a slow one
// loses the oldest and is told so.
type feed struct {
	epoch string // of the ids: tells what this process told from what any other did
	size  uint64 // how many are kept: how far a reader may fall behind, or be away

	mu   sync.Mutex
	ring []told        // the newest, oldest first from next on, once it is full
	next uint64        // number of the next; from 0
	wake chan struct{} // closed when one comes; nil while nobody waits
}

// told is one thing as it is sent.
type told struct {
	kind, job string      // of an event
	level     hclog.Level // of a line of the log
	wire      *wireValue
}

// wireValue is encoded for the first of its readers: most have none.
type wireValue struct {
	once  sync.Once
	value any // nil once it is encoded
	data  []byte
	err   error
}

// bytes returns the value in one line of JSON.
func (w *wireValue) bytes() ([]byte, error) {
	w.once.Do(func() {
		w.data, w.err = api.Marshal(w.value)
		w.value = nil
	})
	return w.data, w.err
}

func newFeed(epoch string, size uint64) *feed { return &feed{epoch: epoch, size: size} }

// add appends what is told; its value must not be changed any more.
func (f *feed) add(t told) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if uint64(len(f.ring)) < f.size {
		f.ring = append(f.ring, t)
	} else {
		f.ring[f.next%f.size] = t
	}
	f.next++
	if f.wake != nil {
		close(f.wake)
		f.wake = nil
	}
}

// wanted says whether a reader wants something.
type wanted func(*told) bool

// feedReader is one reader's place in a feed.
type feedReader struct {
	feed   *feed
	wants  wanted
	cursor uint64 // number of the next to look at
}

// numbered is what is told with its id.
type numbered struct {
	id string
	told
}

// reader begins after what has an id, or with the last of what is kept if there is none,
// 0 for what comes. known is false for an id that is not of this feed: nobody knows what
// its reader has missed.
func (f *feed) reader(wants wanted, after string, last int) (r *feedReader, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r = &feedReader{feed: f, wants: wants, cursor: f.next}
	if after == "" {
		for oldest := f.oldest(); last > 0 && r.cursor > oldest; r.cursor-- {
			if wants(f.at(r.cursor - 1)) {
				last--
			}
		}
		return r, true
	}
	epoch, number, _ := strings.Cut(after, "-")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil || epoch != f.epoch || n >= f.next {
		return r, false
	}
	r.cursor = n + 1
	return r, true
}

// oldest is the number of the oldest that is kept; mu is held.
func (f *feed) oldest() uint64 { return f.next - uint64(len(f.ring)) }

// at returns what has a number and is kept; mu is held.
func (f *feed) at(n uint64) *told { return &f.ring[n%f.size] }

func (f *feed) id(n uint64) string { return f.epoch + "-" + strconv.FormatUint(n, 10) }

// feedBatch bounds how much one take returns.
const feedBatch = 256

// wait returns some of what the reader wants, and how many were lost before, wanted or
// not. If there is nothing it waits until something is told, which need not be what the
// reader wants.
func (r *feedReader) wait(ctx context.Context) (list []numbered, lost int, err error) {
	list, lost, wake := r.take()
	if len(list) > 0 || lost > 0 {
		return list, lost, nil
	}
	select {
	case <-wake:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	list, lost, _ = r.take()
	return list, lost, nil
}

func (r *feedReader) take() (list []numbered, lost int, wake <-chan struct{}) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if oldest := f.oldest(); r.cursor < oldest {
		lost = int(oldest - r.cursor) //nolint:gosec // fewer than were ever fed
		r.cursor = oldest
	}
	for ; r.cursor < f.next && len(list) < feedBatch; r.cursor++ {
		if t := f.at(r.cursor); r.wants(t) {
			list = append(list, numbered{f.id(r.cursor), *t})
		}
	}
	if r.cursor == f.next && f.wake == nil {
		f.wake = make(chan struct{})
	}
	return list, lost, f.wake
}

package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// odd is a store that does something of its own where a test says so.
type odd struct {
	*memoryStore
	watch   func(ctx context.Context, changed func()) error
	acquire func() error // nil goes on to the store
}

func (o *odd) Watch(ctx context.Context, changed func()) error {
	if o.watch == nil {
		return o.memoryStore.Watch(ctx, changed)
	}
	return o.watch(ctx, changed)
}

func (o *odd) Acquire(ctx context.Context, seen Record) (Hold, error) {
	if o.acquire != nil {
		if err := o.acquire(); err != nil {
			return Hold{}, err
		}
	}
	return o.memoryStore.Acquire(ctx, seen)
}

// manage starts a process on the store.
func manage(t *testing.T, store *odd) (*Manager, *logBuffer) {
	t.Helper()
	start, log := time.Now(), &logBuffer{}
	m, err := New(Config{Backend: "memory", Identity: store.who, JobSetID: "v1:a", Timing: simTiming(), Store: store,
		Clock:  func() time.Duration { return time.Since(start) },
		Logger: hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m, log
}

// A watch that ends again and again is begun ever less often, whatever it tells; one that
// lasted is begun again at once.
func TestWatchIsBegunAgain(t *testing.T) {
	for name, test := range map[string]struct {
		lasts       time.Duration
		least, most int // in two minutes
	}{
		"ends at once": {0, 10, 40},
		"lasts":        {11 * time.Second, 10, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var watches atomic.Int32
				m, _ := manage(t, &odd{memoryStore: newMemory(false, simTTL).open(0), watch: func(ctx context.Context, changed func()) error {
					watches.Add(1)
					changed()
					_ = Sleep(ctx, test.lasts) // to its end, or that of ctx
					return errors.New("it has ended")
				}})
				pass(2 * time.Minute)
				if begun := int(watches.Load()); begun < test.least || begun > test.most {
					t.Errorf("it was begun %d times, want %d to %d", begun, test.least, test.most)
				}
				if err := m.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A record that is free, but that nobody may have yet, is asked for once each pause. That
// is no failure of the store.
func TestBarredRecordIsAskedForWithPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const barred = 15 * time.Second
		start := time.Now()
		var requests atomic.Int32
		m, log := manage(t, &odd{memoryStore: newMemory(false, simTTL).open(0), acquire: func() error {
			requests.Add(1)
			if time.Since(start) < barred {
				return ErrBarred
			}
			return nil
		}})
		pass(barred + 2*simTiming().Retry)
		if !m.View().IsLeader() {
			t.Error("it does not lead once the record may be had")
		}
		asked := int(requests.Load())
		if most := int(barred/simTiming().Retry) + 3; asked > most || asked < 3 {
			t.Errorf("it was asked for %d times in %v, want at most %d", asked, barred, most)
		}
		if n := log.count("does not serve"); n != 0 {
			t.Errorf("that was logged as a failure %d times", n)
		}
		if err := m.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

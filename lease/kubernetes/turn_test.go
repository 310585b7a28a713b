package kubernetes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func TestRenewalsGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns turns
		if err := turns.take(t.Context(), patient); err != nil {
			t.Fatal(err)
		}
		var (
			mu    sync.Mutex
			order []string
			wg    sync.WaitGroup
		)
		wait := func(ctx context.Context, name string, u urgency) {
			wg.Go(func() {
				if turns.take(ctx, u) != nil {
					return
				}
				mu.Lock()
				order = append(order, name)
				mu.Unlock()
				turns.give()
			})
			synctest.Wait() // it stands in line
		}
		given, giveUp := context.WithCancel(t.Context())
		wait(t.Context(), "claim 1", patient)
		wait(given, "claim given up", patient)
		wait(given, "renewal given up", urgent)
		wait(t.Context(), "claim 2", patient)
		wait(t.Context(), "renewal 1", urgent)
		wait(t.Context(), "renewal 2", urgent)
		giveUp()
		synctest.Wait()
		turns.give()
		wg.Wait()
		if want := []string{"renewal 1", "renewal 2", "claim 1", "claim 2"}; !slices.Equal(order, want) {
			t.Errorf("the turns went to %q, want %q", order, want)
		}
		if err := turns.take(t.Context(), urgent); err != nil {
			t.Errorf("afterwards the turn is not free: %v", err)
		}
	})
}

// Many writers, of which some give up at any moment: there is never more than one, and
// the turn is never lost.
func TestTurnsAreNeitherSharedNorLost(t *testing.T) {
	var (
		turns turns
		inner int // guarded by the turn: the race detector sees two
		wg    sync.WaitGroup
	)
	for i := range 8 {
		wg.Go(func() {
			for n := range 500 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%3 == 0 {
					go cancel()
				}
				err := turns.take(ctx, i%2 == 0)
				if err == nil {
					if inner++; inner != 1 {
						t.Errorf("%d have the turn", inner)
					}
					inner--
					turns.give()
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if turns.busy {
		t.Error("nobody has given the turn back")
	}
}

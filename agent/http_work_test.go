package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
)

// All that ask while an answer is not begun get that one; who asks later gets a new one.
func TestLargeAnswersAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLargeAnswers()
		busy := cap(l.slots)
		for range busy {
			l.slots <- struct{}{}
		}
		made, release := 0, make(chan struct{})
		body := func() ([]byte, error) {
			made++
			n := made
			<-release
			return fmt.Append(nil, n), nil
		}
		got := make(chan string, 100)
		ask := func(ctx context.Context, what string) {
			go func() {
				data, err := l.get(ctx, what, body)
				if err != nil {
					got <- err.Error()
					return
				}
				got <- string(data)
			}()
			synctest.Wait()
		}
		for range 5 {
			ask(t.Context(), "a")
		}
		gone, leave := context.WithCancel(t.Context())
		ask(gone, "a")
		leave()
		if text := <-got; text != context.Canceled.Error() {
			t.Errorf("who leaves gets %s", text)
		}
		if made != 0 {
			t.Fatal("begun without a slot")
		}
		<-l.slots
		synctest.Wait()
		// The first is under way: it may have seen what was before.
		ask(t.Context(), "a")
		ask(t.Context(), "a")
		if made != 1 {
			t.Errorf("%d are under way in one slot", made)
		}
		close(release)
		counts := map[string]int{}
		for range 7 {
			counts[<-got]++
		}
		if counts["1"] != 5 || counts["2"] != 2 {
			t.Errorf("got %v", counts)
		}
		for range busy - 1 {
			<-l.slots
		}
	})
}

// The first of several may go away, or what it does may fail: the others get an answer.
func TestLargeAnswersFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLargeAnswers()
		for range cap(l.slots) {
			l.slots <- struct{}{}
		}
		ctx, cancel := context.WithCancel(t.Context())
		broken := errors.New("broken")
		results := make(chan error, 2)
		for i, ctx := range []context.Context{ctx, t.Context()} {
			go func() {
				_, err := l.get(ctx, "a", func() ([]byte, error) {
					if i > 0 {
						t.Error("made by the wrong one")
					}
					return nil, broken
				})
				results <- err
			}()
			synctest.Wait()
		}
		cancel()
		<-l.slots
		for range 2 {
			if err := <-results; !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		}
		for range cap(l.slots) - 1 {
			<-l.slots
		}
		func() {
			defer func() { _ = recover() }()
			_, _ = l.get(t.Context(), "a", func() ([]byte, error) { panic("x") })
			t.Error("a panic got lost")
		}()
		if len(l.slots) != 0 || len(l.waiting) != 0 {
			t.Errorf("%d slots in use, %d waiting", len(l.slots), len(l.waiting))
		}
	})
}

package gossip

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A few dials at a time; those that take too long count no more.
func TestTurnstile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTurnstile(maxDials)
		began := time.Now()
		enter := func(want time.Duration) *turn {
			t.Helper()
			u := x.enter(nil, turnConnect)
			if took := time.Since(began); took != want {
				t.Errorf("let in after %v, want %v", took, want)
			}
			return u
		}
		var first []*turn
		for range maxDials {
			first = append(first, enter(0))
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		if x.enter(ctx.Done(), turnConnect) != nil {
			t.Error("one too many")
		}
		first[0].leave()
		connected := enter(time.Millisecond)
		connected.extend(turnHandshake)
		// The other first ones never got a connection.
		for range maxDials - 1 {
			enter(turnConnect)
		}
		first[1].extend(turnHandshake) // too late
		first[1].leave()
		first[1].leave()
		for range maxDials - 1 {
			enter(2 * turnConnect)
		}
		for range maxDials - 1 {
			enter(3 * turnConnect)
		}
		<-time.After(turnHandshake)
		if n := len(x.slots); n != 0 {
			t.Errorf("%d still count", n)
		}
	})
}

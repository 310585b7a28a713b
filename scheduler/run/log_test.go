package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

func (l *Log) pushTest(texts ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		l.push([]byte(text), 0)
	}
	l.signal()
}

func numbered(from, to int) []string {
	var texts []string
	for i := from; i < to; i++ {
		texts = append(texts, fmt.Sprint("line ", i))
	}
	return texts
}

// follow reads a subscription to its end.
func follow(t *testing.T, s *Subscription) (texts []string, lost int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	for {
		lines, n, err := s.Next(ctx)
		lost += n
		for _, l := range lines {
			texts = append(texts, l.Text)
		}
		if errors.Is(err, io.EOF) {
			return texts, lost
		}
		if err != nil {
			t.Errorf("after %d lines: %v", len(texts), err)
			return texts, lost
		}
	}
}

func TestLogKeepsTheLastLines(t *testing.T) {
	l := newLog()
	l.pushTest(numbered(0, 2500)...)
	lines := l.Lines()
	if len(lines) != LogLines || lines[0].Text != "line 1500" || lines[999].Text != "line 2499" {
		t.Errorf("%d lines from %v on", len(lines), lines[:1])
	}
	if last := l.Last(2); len(last) != 2 || last[1].Text != "line 2499" || len(l.Last(-1)) != 0 || len(l.Last(5000)) != LogLines {
		t.Errorf("last two lines %v", last)
	}
	l.end()
	s := l.Subscribe()
	defer s.Close()
	texts, lost := follow(t, s)
	if len(texts) != LogLines || texts[0] != "line 1500" || lost != 0 {
		t.Errorf("after the end: %d lines, %d lost", len(texts), lost)
	}
}

// TestReplayThenLive joins at many moments of a run and expects no gap, no duplicate.
func TestReplayThenLive(t *testing.T) {
	l := newLog()
	const total = 6000 // within what a follower may fall behind
	var wg sync.WaitGroup
	type outcome struct {
		texts []string
		lost  int
	}
	outcomes := make([]outcome, 20)
	joined := make(chan struct{})
	for i := range outcomes {
		wg.Go(func() {
			s := l.Subscribe()
			defer s.Close()
			joined <- struct{}{}
			outcomes[i].texts, outcomes[i].lost = follow(t, s)
		})
	}
	for i := 0; i < total; i += 10 {
		if i/10 < len(outcomes) {
			<-joined
		}
		l.pushTest(numbered(i, i+10)...)
	}
	l.end()
	wg.Wait()
	for _, o := range outcomes {
		if o.lost != 0 || len(o.texts) == 0 {
			t.Fatalf("%d lines, %d lost", len(o.texts), o.lost)
		}
		var first int
		if _, err := fmt.Sscanf(o.texts[0], "line %d", &first); err != nil {
			t.Fatal(err)
		}
		want := numbered(first, total)
		if strings.Join(o.texts, "\n") != strings.Join(want, "\n") {
			t.Fatalf("from line %d on: %d lines, want %d", first, len(o.texts), len(want))
		}
		if first > 10*len(outcomes) {
			t.Errorf("joined at line %d", first)
		}
	}
}

func TestSlowFollowerLosesTheOldestAndIsTold(t *testing.T) {
	l := newLog()
	l.pushTest("first")
	s := l.Subscribe()
	defer s.Close()
	if lines, lost, err := s.Next(t.Context()); len(lines) != 1 || lost != 0 || err != nil {
		t.Fatal(lines, lost, err)
	}
	const total = followedLines + 5000
	l.pushTest(numbered(0, total)...) // returns: nobody waits for the follower
	l.end()
	texts, lost := follow(t, s)
	if lost != 5000 || len(texts) != followedLines || texts[0] != "line 5000" {
		t.Errorf("%d lines, %d lost", len(texts), lost)
	}
}

func TestLogShrinksWhenNobodyFollows(t *testing.T) {
	l := newLog()
	s := l.Subscribe()
	other := l.Subscribe()
	l.pushTest(numbered(0, 5000)...)
	s.Close()
	s.Close()
	if l.ring.count != 5000 {
		t.Errorf("%d lines for the other follower", l.ring.count)
	}
	l.end()
	other.Close()
	if l.ring.count != LogLines || l.Size() > LogLines*(16+16) {
		t.Errorf("%d lines in %d bytes", l.ring.count, l.Size())
	}
	if lines := l.Lines(); lines[0].Text != "line 4000" {
		t.Errorf("first line %v", lines[0])
	}
	if _, _, err := s.Next(t.Context()); !errors.Is(err, ErrSubscriptionClosed) {
		t.Errorf("error after Close: %v", err)
	}
}

func TestNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog()
		s := l.Subscribe()
		errs := make(chan error, 1)
		lines := make(chan []Line, 1)
		next := func(ctx context.Context) {
			got, _, err := s.Next(ctx)
			lines <- got
			errs <- err
		}
		idle := func() {
			t.Helper()
			synctest.Wait()
			if len(errs) > 0 {
				t.Fatal("Next returned without anything to say")
			}
		}
		go next(t.Context())
		idle()
		l.pushTest("a", "b")
		if got, err := <-lines, <-errs; len(got) != 2 || err != nil {
			t.Errorf("lines %v, error %v", got, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go next(ctx)
		idle()
		cancel()
		if got, err := <-lines, <-errs; got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("lines %v, error %v", got, err)
		}
		go next(t.Context())
		idle()
		s.Close()
		if got, err := <-lines, <-errs; got != nil || !errors.Is(err, ErrSubscriptionClosed) {
			t.Errorf("lines %v, error %v", got, err)
		}
		s = l.Subscribe()
		defer s.Close()
		go next(t.Context()) // the replay
		<-lines
		<-errs
		go next(t.Context())
		idle()
		l.end()
		if got, err := <-lines, <-errs; got != nil || !errors.Is(err, io.EOF) {
			t.Errorf("lines %v, error %v", got, err)
		}
	})
}

func TestSubscribeAfterGoesOn(t *testing.T) {
	l := newLog()
	l.pushTest(numbered(0, 10)...)
	first := l.Subscribe()
	if _, _, err := first.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	position := first.Position()
	first.Close()
	if position != 10 {
		t.Fatalf("position %d after ten lines", position)
	}
	l.pushTest(numbered(10, 20)...)
	again, late, beyond := l.SubscribeAfter(position), l.SubscribeAfter(0), l.SubscribeAfter(1<<60)
	defer again.Close()
	defer late.Close()
	defer beyond.Close()
	l.pushTest(numbered(20, 30)...)
	l.end()
	if texts, lost := follow(t, again); len(texts) != 20 || texts[0] != "line 10" || lost != 0 {
		t.Errorf("%d lines, %d lost", len(texts), lost)
	}
	if texts, lost := follow(t, late); len(texts) != 30 || lost != 0 {
		t.Errorf("from the start: %d lines, %d lost", len(texts), lost)
	}
	if texts, lost := follow(t, beyond); len(texts) != 10 || texts[0] != "line 20" || lost != 0 {
		t.Errorf("from beyond the end: %d lines, %d lost", len(texts), lost)
	}

	long := newLog()
	long.pushTest(numbered(0, 2500)...)
	long.end()
	cut := long.SubscribeAfter(100)
	defer cut.Close()
	if texts, lost := follow(t, cut); len(texts) != LogLines || lost != 1400 {
		t.Errorf("of a longer log: %d lines, %d lost", len(texts), lost)
	}
}

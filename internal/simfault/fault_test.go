package simfault

import (
	"strings"
	"testing"
	"time"
)

func TestCuts(t *testing.T) {
	for _, tt := range []struct {
		fault Fault
		cut   string // pairs of nodes, 0 to 3
	}{
		{Fault{Kind: Cut, A: 1, B: 2}, "1→2 2→1"},
		{Fault{Kind: OneWay, A: 1, B: 2}, "1→2"},
		{Fault{Kind: Partition, Mask: 0b0011}, "0→2 0→3 1→2 1→3 2→0 2→1 3→0 3→1"},
		{Fault{Kind: Crash, A: 1}, ""},
	} {
		var pairs []string
		for from := range 4 {
			for to := range 4 {
				if from != to && tt.fault.Cuts(from, to) {
					pairs = append(pairs, string(rune('0'+from))+"→"+string(rune('0'+to)))
				}
			}
		}
		if got := strings.Join(pairs, " "); got != tt.cut {
			t.Errorf("%v cuts %q, want %q", tt.fault, got, tt.cut)
		}
	}
}

func TestActiveAt(t *testing.T) {
	f := Fault{At: time.Second, Last: time.Second}
	for at, want := range map[time.Duration]bool{
		0: false, time.Second - 1: false, time.Second: true, 2*time.Second - 1: true, 2 * time.Second: false,
	} {
		if f.ActiveAt(at) != want {
			t.Errorf("at %v: %v", at, !want)
		}
	}
}

// Each kind has words of its own.
func TestWords(t *testing.T) {
	seen := map[string]Kind{}
	for k := range Kinds {
		text := Fault{Kind: k, B: 1, Mask: 1, By: time.Second, Last: time.Second}.String()
		if other, ok := seen[text]; ok || text == "?" {
			t.Errorf("kinds %d and %d: %s", k, other, text)
		}
		seen[text] = k
	}
}

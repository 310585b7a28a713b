package gossip

import (
	"testing"
	"time"

	"github.com/yacron2/yacron2/election"
)

// Only what says that it is a grant is one.
func TestAnAnswerGrantsExplicitly(t *testing.T) {
	firings := []election.Firing{{Job: "job", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}
	tests := []struct {
		name    string
		vote    wireVote
		granted bool
	}{
		{"a grant", wireVote{Granted: true}, true},
		{"nothing", wireVote{}, false},
		{"a refusal", wireVote{Refusal: string(election.RefusedTaken)}, false},
		{"a grant and a refusal", wireVote{Granted: true, Refusal: string(election.RefusedTaken)}, false},
		{"a refusal of a later version", wireVote{Granted: true, Refusal: "moon-phase"}, false},
	}
	for _, tt := range tests {
		answers, err := decodeAnswer(&wireAnswer{Votes: []wireVote{tt.vote}}, firings)
		if err != nil {
			t.Fatal(err)
		}
		if answers[0].Granted() != tt.granted {
			t.Errorf("%s: granted %v", tt.name, answers[0].Granted())
		}
	}
}

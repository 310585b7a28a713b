package votes

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/yacron2/yacron2/election"
)

// What a claim costs a voter that keeps its votes, in a file that has 10,000 of them. Bare is
// the least that the disk takes for it: to write a page and to wait until it is there.
func BenchmarkAppend(b *testing.B) {
	for _, n := range []int{1, 1000} {
		b.Run(fmt.Sprintf("votes=%d", n), func(b *testing.B) {
			s, err := Open(Config{Path: filepath.Join(b.TempDir(), "votes.db"), NodeName: node})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var kept [][]election.Vote
			total := 0
			for batch := 0; total < 10_000; batch++ {
				kept = append(kept, batchOf(1, batch, n))
				total += n
				if n == 1 {
					kept[batch] = batchOf(1, batch, 1000)
					total += 999
				}
				if err := s.Append(kept[batch]); err != nil {
					b.Fatal(err)
				}
			}
			batch := len(kept)
			b.ReportAllocs()
			for b.Loop() {
				votes := batchOf(1, batch, n)
				if err := s.Append(votes); err != nil {
					b.Fatal(err)
				}
				batch++
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "votes/s")
		})
	}
	b.Run("bare", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "page"))
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		page := make([]byte, os.Getpagesize())
		for b.Loop() {
			if _, err := f.WriteAt(page, 0); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

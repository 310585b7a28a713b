package command

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSize(t *testing.T) {
	r := run(t, nil, "size", "-nodes=5", "-p", "0.99")
	r.expect(t, exitOK, []string{"NODES  QUORUM", "SKIPPED OF 8760"}, nil)
	golden(t, "size/table.txt", r.out)

	r = run(t, nil, "size", "-nodes=3", "-p=0.9", "-firings=1000", "-format=json")
	golden(t, "size/list.json", r.out)
	var list []clusterSize
	if err := json.Unmarshal([]byte(r.out), &list); err != nil {
		t.Fatal(err)
	}
	three := list[2]
	if three.Nodes != 3 || three.Quorum != 2 || three.Tolerates != 1 || math.Abs(three.Runs-0.972) > 1e-12 || math.Abs(three.Skipped-28) > 1e-9 {
		t.Errorf("of three nodes: %+v", three)
	}
	if run(t, nil, "size").out != run(t, nil, "size", "-nodes=7", "-p=0.99", "-firings=8760").out {
		t.Error("the defaults are not 7, 0.99 and 8760")
	}
}

// TestSizeIsBinomial counts, in exact fractions, over all sets of nodes that are up.
func TestSizeIsBinomial(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 11).Draw(t, "nodes")
		percent := rapid.Int64Range(1, 999).Draw(t, "permille")
		up, down := big.NewRat(percent, 1000), big.NewRat(1000-percent, 1000)
		skips := new(big.Rat)
		for set := range 1 << nodes {
			chance, there := big.NewRat(1, 1), 0
			for i := range nodes {
				if set>>i&1 == 1 {
					chance.Mul(chance, up)
					there++
				} else {
					chance.Mul(chance, down)
				}
			}
			if 2*there <= nodes {
				skips.Add(skips, chance)
			}
		}
		want, _ := skips.Float64()
		got := sizeOf(nodes, float64(percent)/1000, 1)
		if math.Abs(got.Skips-want) > 1e-9*want || math.Abs(got.Runs+got.Skips-1) > 1e-12 || got.Skipped != got.Skips {
			t.Errorf("%d nodes of %d‰: %+v, want skips of %g", nodes, percent, got, want)
		}
	})
}

func TestSizeMisuse(t *testing.T) {
	for args, want := range map[string]string{
		"-nodes=0": "-nodes=0: write 1 to 99", "-nodes=100": "-nodes=100: write 1 to 99",
		"-p=1": "-p=1: write a number between 0 and 1", "-p=0": "-p=0: ", "-p=NaN": "-p=NaN: ", "-p=99": "-p=99: ",
		"-firings=0": "-firings=0: write a number above 0", "-firings=+Inf": "-firings=+Inf: ",
	} {
		run(t, nil, "size", args).expect(t, exitMisuse, nil, []string{want, "yacron2 size -help"})
	}
}

// The page about sizes shows what the command prints.
func TestSizePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "website", "sizing.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	lines := strings.Split(string(page), "\n")
	for i, line := range lines {
		words, isCommand := strings.CutPrefix(line, "    $ yacron2 ")
		if !isCommand {
			continue
		}
		shown++
		for j, want := range strings.Split(strings.TrimRight(run(t, nil, strings.Fields(words)...).out, "\n"), "\n") {
			if got := lines[i+1+j]; strings.TrimRight(got, " ") != strings.TrimRight("    "+want, " ") {
				t.Errorf("below %q the page has\n%s\nand the command prints\n    %s", line, got, want)
			}
		}
	}
	if shown < 2 {
		t.Errorf("the page shows %d commands", shown)
	}
}

package election

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yacron2/yacron2/internal/simfault"
)

// The transcripts in testdata/transcripts are stories of small clusters: commands, a
// line of dashes, and what they print. With -rewrite the tests write what is printed
// now; read the difference before keeping it.
//
//	cluster N [spread] [durable] [manual]   starts n0, n1, …; manual: nobody claims by itself
//	run 5s                                  lets time pass
//	cut n0 n1 | cut n0 > n1 | isolate n0    breaks links
//	heal                                    mends all links
//	crash n0 | start n0 | stop n0           ends, begins, hands over
//	clock n0 -30s                           sets a wall clock
//	views                                   shows what each node makes of the cluster
//	claim n0 tick 3s [at n1 …]              claims a firing, all at once for several nodes
//	runs                                    shows what ran since it was last asked
var rewrite = flag.Bool("rewrite", false, "write the transcripts anew")

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "transcripts", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			var s stage
			for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
				input, want, _ := strings.Cut(block+"\n", "----\n")
				var got strings.Builder
				for line := range strings.Lines(input) {
					line = strings.TrimSpace(line)
					if line == "" || strings.HasPrefix(line, "#") {
						continue
					}
					if err := s.do(&got, strings.Fields(line)); err != nil {
						t.Fatalf("%s: %s: %v", file, line, err)
					}
				}
				if !*rewrite && got.String() != want {
					t.Errorf("%s:\n%s----\ngot:\n%swant:\n%s", file, input, got.String(), want)
				}
				fmt.Fprintf(&out, "%s", input)
				if got.Len() > 0 {
					fmt.Fprintf(&out, "----\n%s", got.String())
				}
				out.WriteString("\n")
			}
			if d := s.w.doubled(); len(d) > 0 {
				t.Errorf("doubled: %v", d)
			}
			if *rewrite {
				if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// stage runs the commands of one transcript.
type stage struct {
	w     *world
	shown map[Firing]int
}

func (s *stage) do(out *strings.Builder, words []string) error {
	verb, args := words[0], words[1:]
	if verb == "cluster" {
		return s.cluster(args)
	}
	if s.w == nil {
		return fmt.Errorf("no cluster yet")
	}
	switch verb {
	case "run":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			return err
		}
		s.w.runUntil(s.w.now + d)
	case "cut", "isolate":
		return s.cut(args)
	case "heal":
		s.w.sc.Faults = nil
	case "crash", "start", "stop", "clock":
		n, err := s.node(args[0])
		if err != nil {
			return err
		}
		switch verb {
		case "crash":
			n.crash()
		case "start":
			n.start()
		case "stop":
			n.stop()
		case "clock":
			d, err := time.ParseDuration(args[1])
			if err != nil {
				return err
			}
			n.stepClock(d)
		}
	case "views":
		s.views(out)
	case "claim":
		return s.claim(out, args)
	case "runs":
		s.runs(out)
	default:
		return fmt.Errorf("no such command")
	}
	return nil
}

func (s *stage) cluster(args []string) error {
	sc := scenario{Seed: 1, Distribution: SingleLeader, Delay: 5 * time.Millisecond}
	if _, err := fmt.Sscan(args[0], &sc.N); err != nil {
		return err
	}
	for _, word := range args[1:] {
		switch word {
		case "spread":
			sc.Distribution = Spread
		case "durable":
			sc.Durable = true
		case "manual":
			sc.Manual = true
		default:
			return fmt.Errorf("no such cluster")
		}
	}
	sc.Offsets = make([]time.Duration, sc.N)
	s.w, s.shown = simulate(sc, rules{}), make(map[Firing]int)
	return nil
}

func (s *stage) node(name string) (*node, error) {
	for _, n := range s.w.nodes {
		if n.name() == name {
			return n, nil
		}
	}
	return nil, fmt.Errorf("no node %q", name)
}

func (s *stage) cut(args []string) error {
	a, err := s.node(args[0])
	if err != nil {
		return err
	}
	f := simfault.Fault{Kind: simfault.Partition, A: a.index, Mask: 1 << a.index, At: s.w.now, Last: 1000 * time.Hour}
	if len(args) > 1 {
		b, err := s.node(args[len(args)-1])
		if err != nil {
			return err
		}
		f.Kind, f.B = simfault.Cut, b.index
		if args[1] == ">" {
			f.Kind = simfault.OneWay
		}
	}
	s.w.sc.Faults = append(s.w.sc.Faults, f)
	return nil
}

func (s *stage) views(out *strings.Builder) {
	for _, n := range s.w.nodes {
		if n.proc == nil {
			fmt.Fprintf(out, "%s: down\n", n.name())
			continue
		}
		v := n.proc.current()
		fmt.Fprintf(out, "%s: %d of %d", n.name(), 1+len(v.MutualAgreeing()), v.Size())
		for _, set := range []struct {
			label string
			names []string
		}{
			{"mutual", v.MutualAgreeing()}, {"bridges", v.BridgeCandidates()},
			{"unconfirmed", v.UnconfirmedContenders()}, {"available", v.AvailableContenders()},
		} {
			if len(set.names) > 0 {
				fmt.Fprintf(out, ", %s %s", set.label, strings.Join(set.names, " "))
			}
		}
		for _, policy := range []Policy{Leader, PreferLeader} {
			d := Decide(policy, true, v, jobTick)
			fmt.Fprintf(out, "\n  %s: %s (%s)", policy, d.Action, d.Reason)
		}
		out.WriteString("\n")
	}
}

// claim lets nodes claim one firing: "n0 tick 3s", or "n0 n1 tick 3s" at the same
// moment, or "n0 warm-up" for the one-shot.
func (s *stage) claim(out *strings.Builder, args []string) error {
	f := Firing{Job: args[len(args)-1]}
	names := args[:len(args)-1]
	if at, err := time.ParseDuration(f.Job); err == nil {
		f = Firing{Job: args[len(args)-2], At: epoch.Add(at)}
		names = args[:len(args)-2]
	}
	var procs []*process
	var claims []*claim
	for _, name := range names {
		n, err := s.node(name)
		if err != nil {
			return err
		}
		p := n.proc
		delete(p.settled, f)
		p.open(f, f.Reboot())
		procs, claims = append(procs, p), append(claims, p.claims[f])
	}
	for _, p := range procs {
		p.ask()
	}
	s.w.runUntil(s.w.now + 500*time.Millisecond)
	for i, p := range procs {
		c := claims[i]
		if again := p.claims[f]; again != nil {
			c = again // asked in earnest after the probe
		}
		v := c.tally.Verdict(func(id string) string { name, _, _ := strings.Cut(id, "#"); return name })
		if p.consumed[f] {
			v.Outcome = Granted
		}
		fmt.Fprintf(out, "%s: %s", p.name(), v.Outcome)
		if v.Reason != "" {
			fmt.Fprintf(out, " [%s] %s", v.Code, v.Reason)
		}
		out.WriteString("\n")
		delete(p.claims, f)
	}
	return nil
}

// runs shows who ran what since the last time, by node and job.
func (s *stage) runs(out *strings.Builder) {
	type key struct{ instance, job string }
	seen := make(map[key][]time.Duration)
	for f, launches := range s.w.launches {
		for _, l := range launches[s.shown[f]:] {
			at := time.Duration(-1)
			if !f.Reboot() {
				at = f.At.Sub(epoch)
			}
			k := key{l.instance, f.Job}
			seen[k] = append(seen[k], at)
		}
		s.shown[f] = len(launches)
	}
	keys := make([]key, 0, len(seen))
	for k := range seen {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.job, b.job))
	})
	for _, k := range keys {
		fmt.Fprintf(out, "%s ran %s", k.instance, k.job)
		slices.Sort(seen[k])
		for _, at := range seen[k] {
			if at >= 0 {
				fmt.Fprintf(out, " %v", at)
			}
		}
		out.WriteString("\n")
	}
	if len(keys) == 0 {
		out.WriteString("nothing\n")
	}
}

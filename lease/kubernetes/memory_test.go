package kubernetes

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOutcomeOfALostWrite(t *testing.T) {
	const me, other = owner(4), owner(5)
	lost := unsettled{uid: "u", version: "10", by: me, read: 3, raises: []raise{
		{watermark: watermark{job: 1, at: 20, by: me}, from: 10},
		{watermark: watermark{job: 2, at: 30, by: me}, from: 15}}}
	at := func(floor instant, ws ...watermark) *claims {
		c := &claims{floor: floor}
		c.raise(ws)
		return c
	}
	for _, row := range []struct {
		name      string
		seen      seen
		settled   bool
		mine      bool
		uncertain bool
	}{
		{name: "a read that had begun before", seen: seen{uid: "u", version: "11", read: 3, claims: at(0)}},
		{name: "nothing has changed: it may still be done", seen: seen{uid: "u", version: "10", read: 4, claims: at(0)}},
		{name: "done", seen: seen{uid: "u", version: "11", read: 4,
			claims: at(0, watermark{job: 1, at: 20, by: me}, watermark{job: 2, at: 30, by: me})}, settled: true, mine: true},
		{name: "something else was", seen: seen{uid: "u", version: "12", read: 4, claims: at(0, watermark{job: 1, at: 10, by: other})}, settled: true},
		{name: "another one has the same instant", seen: seen{uid: "u", version: "12", read: 4,
			claims: at(0, watermark{job: 1, at: 20, by: other}, watermark{job: 2, at: 30, by: other})}, settled: true},
		{name: "another one has gone on with one job only", seen: seen{uid: "u", version: "12", read: 4,
			claims: at(0, watermark{job: 1, at: 21, by: other}, watermark{job: 2, at: 30, by: me})}, settled: true, mine: true},
		{name: "another one has gone on with both", seen: seen{uid: "u", version: "12", read: 4,
			claims: at(0, watermark{job: 1, at: 21, by: other}, watermark{job: 2, at: 31, by: other})}, settled: true, uncertain: true},
		{name: "all of it was dropped", seen: seen{uid: "u", version: "12", read: 4, claims: at(50)}, settled: true, uncertain: true},
		{name: "the Lease is another one", seen: seen{uid: "v", version: "10", read: 4,
			claims: at(0, watermark{job: 1, at: 20, by: me})}, settled: true, uncertain: true},
		{name: "there is no Lease", seen: seen{read: 4}, settled: true, uncertain: true},
		{name: "its claims cannot be read", seen: seen{uid: "u", version: "12", read: 4}, settled: true, uncertain: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := memory{lost: []unsettled{lost}}
			m.settle(row.seen, time.Hour)
			if settled := len(m.lost) == 0; settled != row.settled {
				t.Errorf("settled: %t, want %t", settled, row.settled)
			}
			for _, at := range []instant{11, 20} {
				if m.owns(1, at) != row.mine || m.doubts(1, at) != row.uncertain {
					t.Errorf("%d is mine: %t, want %t; in doubt: %t, want %t", at, m.owns(1, at), row.mine, m.doubts(1, at), row.uncertain)
				}
			}
			if m.owns(1, 10) || m.owns(1, 21) || m.owns(3, 20) {
				t.Error("more is mine than was written")
			}
		})
	}
}

func TestMemoryForgets(t *testing.T) {
	m := memory{}
	claim := func(job jobKey, from, to instant, now time.Duration) {
		m.add([]raise{{watermark: watermark{job: job, at: to}, from: from}}, now)
	}
	claim(1, 0, 10, time.Minute)
	claim(1, 10, 20, 10*time.Minute) // joins the one before
	claim(2, 0, 10, time.Minute)
	for range maxSpans + 1 {
		claim(3, 30, 40, 10*time.Minute) // never joins
	}
	if n := len(m.spans[1]); n != 1 {
		t.Errorf("two adjoining claims are %d spans", n)
	}
	if n := len(m.spans[3]); n != maxSpans {
		t.Errorf("%d spans of one job are remembered, want %d", n, maxSpans)
	}
	claim(4, 0, 1, time.Minute+remember+time.Second)
	if !m.owns(1, 5) || !m.owns(1, 20) || m.owns(2, 5) || !m.owns(3, 35) || !m.owns(4, 1) {
		t.Errorf("after %s: %+v", remember, m.spans)
	}
}

// Several processes raise the watermark of one job in turns, and some answers are lost.
// No instant is ever two processes', whatever each of them finds out later.
func TestNoInstantIsOfTwoProcesses(t *testing.T) {
	type process struct {
		memory memory
		reads  uint64
	}
	rapid.Check(t, func(t *rapid.T) {
		const instants = 60
		processes := make([]process, 3)
		table := &claims{}
		version, holder, by := 0, 0, owner(0)
		text := func() string { return string(rune('a'+version%26)) + string(rune('a'+version/26)) }
		look := func(p *process) {
			p.reads++
			p.memory.settle(seen{uid: "u", version: text(), claims: table, read: p.reads}, 0)
		}
		t.Repeat(map[string]func(*rapid.T){
			"take over": func(t *rapid.T) {
				holder = rapid.IntRange(0, len(processes)-1).Draw(t, "holder")
				look(&processes[holder])
				by++
				version++
			},
			"claim": func(t *rapid.T) {
				p := &processes[holder]
				look(p)
				last, _ := table.last(1)
				at := last.at + instant(rapid.IntRange(1, 3).Draw(t, "further"))
				raises := []raise{{watermark: watermark{job: 1, at: at, by: by}, from: last.at}}
				before := text()
				written := rapid.Bool().Draw(t, "written")
				if written {
					next := &claims{marks: append([]watermark(nil), table.marks...)}
					next.raise([]watermark{raises[0].watermark})
					table, version = next, version+1
				}
				if written && rapid.Bool().Draw(t, "answered") {
					p.memory.add(raises, 0)
				} else {
					p.memory.lost = append(p.memory.lost, unsettled{uid: "u", version: before, by: by, raises: raises, read: p.reads})
				}
			},
			"read": func(t *rapid.T) { look(&processes[rapid.IntRange(0, len(processes)-1).Draw(t, "reader")]) },
			"": func(t *rapid.T) {
				last, _ := table.last(1)
				for at := range instant(instants) {
					owners := 0
					for i := range processes {
						if processes[i].memory.owns(1, at) {
							owners++
						}
					}
					if owners > 1 || owners == 1 && at > last.at {
						t.Fatalf("%d has %d owners, the watermark is at %d", at, owners, last.at)
					}
				}
			},
		})
	})
}

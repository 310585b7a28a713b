package gossip

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/yacron2/yacron2/election"
)

func FuzzHello(f *testing.F) {
	var b bytes.Buffer
	if err := writeHello(&b, hello{1, 1, newInstanceID()}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0, 0})
	f.Add([]byte("\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHello(bytes.NewReader(data))
		if err != nil {
			return
		}
		if !validInstance(h.Instance) || h.ProtocolMin < 1 || h.ProtocolMax < h.ProtocolMin {
			t.Errorf("let through: %+v", h)
		}
		if v, err := negotiate(hello{ProtocolMin: protocolMin, ProtocolMax: protocolMax}, h); err == nil &&
			(v < protocolMin || v > protocolMax || v < h.ProtocolMin || v > h.ProtocolMax) {
			t.Errorf("version %d is not common", v)
		}
	})
}

func FuzzPayload(f *testing.F) {
	elect := true
	full := wireReport(election.Report{
		NodeName: "a", InstanceID: newInstanceID(), JobSetID: "v1:x", Size: 3, Policy: election.Spread, ElectLeader: &elect,
		Members:        []election.Member{{NodeName: "a", InstanceID: "i", Agreed: true, Stopping: true}},
		MutualAgreeing: []string{"b"}, QuorateVouched: []string{"b"}, RanRebootJobs: []string{"boot"},
		RebootHolders: map[string]string{"boot": newInstanceID()}, Stopping: true,
	})
	in := 1.5
	code := 3
	full.Summaries = encodeSummaries(map[string]JobSummary{"job": {Enabled: true, ScheduledIn: &in, Last: &LastRun{Outcome: "failure", FinishedAt: "2026-01-01T00:00:00Z", Duration: &in, ExitCode: &code}}})
	seed, err := full.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"node_name":"a","cluster_size":true,"elect_leader":"no","members":[1,{"node_name":"b"},null],"mutual_agreeing":["b","b",7],"stopping":1}`))
	f.Add([]byte(`{"node_name":"\u0007"}`))
	f.Add([]byte(`{"node_name":"a","job_summaries":{"j":{"scheduled_in":1e999,"last":{"outcome":"odd"}}}}`))
	f.Add([]byte(strings.Repeat("[", 20000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(data)
		if err != nil {
			return
		}
		checkState(t, s)
		// What was taken from a peer can be told again, and means the same.
		again := wireReport(s.report)
		again.Version, again.Summaries, again.SummariesTruncated = s.version, encodeSummaries(s.summaries), s.truncated
		encoded, err := json.Marshal(again)
		if err != nil {
			t.Fatalf("can't be told again: %v", err)
		}
		if len(encoded) > maxStateBytes {
			return
		}
		back, err := decodeState(encoded)
		if err != nil {
			t.Fatalf("can't be read again: %v", err)
		}
		if !reflect.DeepEqual(back.report.Members, s.report.Members) && len(s.report.Members) > 0 {
			t.Errorf("members changed: %v, %v", s.report.Members, back.report.Members)
		}
		if back.version != s.version || back.report.NodeName != s.report.NodeName || back.report.Size != s.report.Size {
			t.Errorf("changed: %+v, %+v", s, back)
		}
	})
}

// checkState fails for anything that must not get past the decoder.
func checkState(t *testing.T, s state) {
	t.Helper()
	ok := func(text string, most int) {
		if text != "" && (!printable(text, most) || utf8.RuneCountInString(text) > most) {
			t.Errorf("let through: %q", text)
		}
	}
	r := s.report
	for _, name := range []string{r.NodeName, r.InstanceID, r.JobSetID} {
		ok(name, maxNameLen)
	}
	for _, set := range [][]string{r.MutualAgreeing, r.QuorateVouched, r.RanRebootJobs} {
		if len(set) > maxSetLen {
			t.Errorf("a set of %d", len(set))
		}
		seen := map[string]bool{}
		for _, name := range set {
			ok(name, maxNameLen)
			if seen[name] || name == "" {
				t.Errorf("%q twice or empty", name)
			}
			seen[name] = true
		}
	}
	for _, m := range r.Members {
		ok(m.NodeName, maxNameLen)
		ok(m.InstanceID, maxNameLen)
	}
	if r.Size < 0 || (r.Policy != "" && r.Policy != election.SingleLeader && r.Policy != election.Spread) {
		t.Errorf("size %d, policy %q", r.Size, r.Policy)
	}
	if len(s.summaries) > maxSummaries {
		t.Errorf("%d summaries", len(s.summaries))
	}
	for name, j := range s.summaries {
		ok(name, maxJobLen)
		if finite(j.ScheduledIn) != j.ScheduledIn || (j.Last != nil && (!knownOutcome(j.Last.Outcome) || finite(j.Last.Duration) != j.Last.Duration)) {
			t.Errorf("summary %+v", j)
		}
	}
}

func FuzzClaimRequest(f *testing.F) {
	for _, q := range []request{
		{Type: typeSync, Version: 7},
		{Type: typeClaim, Claim: &wireClaim{NodeName: "a", Size: 3, JobSetID: "v1:x", Policy: "spread", Firings: groupFirings([]election.Firing{
			{Job: "x", At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, {Job: "boot"}})}},
	} {
		data, err := json.Marshal(q)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"type":"claim","claim":{"firings":[{"at":"0001-01-01T00:00:00Z","jobs":["x"]}]}}`))
	f.Add([]byte(`{"claim":{"firings":[{"at":"9999-12-31T23:59:59.999999999+14:00","jobs":["x"]}]}}`))
	const claimant = "0123456789abcdef0123456789abcdef"
	f.Fuzz(func(t *testing.T, data []byte) {
		q, err := decodeRequest(data)
		if err != nil {
			return
		}
		r, err := decodeClaim(q.Claim, claimant)
		if err != nil {
			return
		}
		if r.InstanceID != claimant || len(r.Firings) > election.MaxFirings {
			t.Fatalf("let through: %+v", r)
		}
		for _, x := range r.Firings {
			if !printable(x.Job, maxJobLen) {
				t.Errorf("job %q", x.Job)
			}
		}
		voter, err := NewVoter(nil)
		if err != nil {
			t.Fatal(err)
		}
		answers, _, err := voter.judge(election.VoterContext{
			Size: 1, Bound: true, JobSetID: r.JobSetID, Policy: r.Policy, LeaderJob: func(string) bool { return true },
		}, r)
		if err != nil || len(answers) != len(r.Firings) {
			t.Fatalf("%d answers to %d firings, %v", len(answers), len(r.Firings), err)
		}
		if _, err := decodeAnswer(encodeAnswer(r.Firings, answers), r.Firings); err != nil {
			t.Errorf("the answer can't be read: %v", err)
		}
	})
}

func FuzzClaimAnswer(f *testing.F) {
	firings := []election.Firing{{Job: "x"}, {Job: "y"}}
	f.Add([]byte(`{"answer":{"votes":[{},{"r":"taken","h":"0123456789abcdef0123456789abcdef"}],"running":["y"]}}`))
	f.Add([]byte(`{"answer":{"refusal":"unbound"}}`))
	f.Add([]byte(`{"answer":{"votes":[{"r":"\u001b[31m","h":"\u0000"},{}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var r response
		if json.Unmarshal(data, &r) != nil {
			return
		}
		answers, err := decodeAnswer(r.Answer, firings)
		if err != nil {
			return
		}
		if len(answers) != len(firings) {
			t.Fatalf("%d answers", len(answers))
		}
		for _, a := range answers {
			if a.Refusal != "" && election.ParseRefusal(string(a.Refusal)) != a.Refusal {
				t.Errorf("refusal %q", a.Refusal)
			}
			if a.Holder != "" && !validInstance(a.Holder) {
				t.Errorf("holder %q", a.Holder)
			}
		}
	})
}

// FuzzPacket feeds what a peer may send as a packet, and as the beginning of a stream.
func FuzzPacket(f *testing.F) {
	f.Add([]byte{msgCompound, 2, 0, 1, 0, 1, msgPing, msgAck})
	f.Add([]byte{msgChecksum, 0, 0, 0, 0, msgUser})
	f.Add(appendPacket(nil, []byte{msgPing}))
	f.Add([]byte{0x83, 0xa5, 'N', 'o', 'd', 'e', 's', 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		if packetAllowed(data) {
			messages := 0
			eachMessage(data, func(m []byte) {
				messages++
				if !plainPacket(m) {
					t.Errorf("%x holds %x", data, m)
				}
			})
			if messages == 0 && (len(data) == 0 || data[0] != msgCompound && data[0] != msgChecksum) {
				t.Errorf("%x is allowed and holds nothing", data)
			}
			p := newProbes()
			p.outgoing(data, time.Now())
			p.incoming(data)
		}
		if instance, version, ok := parseAnnouncement(data); ok {
			if again := appendAnnouncement(nil, instance, version); !bytes.Equal(again, data) {
				t.Errorf("%x became %x", data, again)
			}
		}
		if p, err := readPacket(bufio.NewReader(bytes.NewReader(data))); err == nil && (len(p) == 0 || len(p) > maxPacket) {
			t.Errorf("a packet of %d bytes", len(p))
		}
		_ = checkPushHeader(bytes.NewReader(data))
		if state, err := cutState(data); err == nil && len(state) > maxStateBytes {
			t.Errorf("a state of %d bytes", len(state))
		}
	})
}

// FuzzFrames follows yamux frames through reads of any size.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, frameData, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 'a', 'b', 0, framePing, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, uint8(5))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		var pings int
		for rest := data; len(rest) >= frameHeader; {
			body := 0
			switch rest[1] {
			case frameData:
				body = int(binary.BigEndian.Uint32(rest[8:]))
			case framePing:
				pings++
			}
			rest = rest[frameHeader:]
			rest = rest[min(body, len(rest)):]
		}
		g := newFrameGuard(nil, func() {})
		g.last = g.last.Add(time.Hour) // no allowance grows during the test
		var err error
		for rest := data; len(rest) > 0 && err == nil; {
			n := min(int(step)+1, len(rest))
			err = g.scan(rest[:n])
			rest = rest[n:]
		}
		if flood := pings > pingBurst; flood != (err != nil) {
			t.Errorf("%d pings give %v", pings, err)
		}
	})
}

var _ net.Conn = (*frameGuard)(nil)

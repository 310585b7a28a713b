package election

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// vectorFiles returns the vector files of that name: the one kept here, and the one in
// the folder that YACRON2_VECTORS names, if it does.
func vectorFiles(t *testing.T, name string) []string {
	t.Helper()
	files := []string{filepath.Join("testdata", name)}
	if dir := os.Getenv("YACRON2_VECTORS"); dir != "" {
		files = append(files, filepath.Join(dir, name))
	}
	return files
}

func readVectors(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

type vectorPeer struct {
	Host                string   `json:"host"`
	Status              Status   `json:"status"`
	NodeName            string   `json:"node_name"`
	InstanceID          string   `json:"instance_id"`
	Members             [][3]any `json:"members"`
	MutualAgreeing      []string `json:"mutual_agreeing"`
	QuorateVouched      []string `json:"quorate_vouched"`
	DeclaredSize        int      `json:"declared_size"`
	DeclaredPolicy      string   `json:"declared_distribution"`
	DeclaredElectLeader *bool    `json:"declared_elect_leader"`
}

type vectorView struct {
	NodeName     string       `json:"node_name"`
	InstanceID   string       `json:"instance_id"`
	ElectLeader  bool         `json:"elect_leader"`
	Distribution Distribution `json:"distribution"`
	Rounds       int          `json:"rounds"`
	Peers        []vectorPeer `json:"peers"`
}

func (vv vectorView) state() State {
	s := State{
		Backend: "gossip", NodeName: vv.NodeName, InstanceID: vv.InstanceID,
		ElectLeader: vv.ElectLeader, Distribution: vv.Distribution, Rounds: vv.Rounds,
		ConfiguredSize: len(vv.Peers) + 1,
	}
	for _, p := range vv.Peers {
		row := Peer{
			Host: p.Host, Status: p.Status, NodeName: p.NodeName, InstanceID: p.InstanceID,
			MutualAgreeing: p.MutualAgreeing, QuorateVouched: p.QuorateVouched,
			DeclaredSize: p.DeclaredSize, DeclaredPolicy: Distribution(p.DeclaredPolicy),
			DeclaredElectLeader: p.DeclaredElectLeader,
		}
		if p.Members != nil {
			row.Members = []Member{}
		}
		for _, m := range p.Members {
			row.Members = append(row.Members, Member{
				NodeName: m[0].(string), InstanceID: m[1].(string), Agreed: m[2].(bool),
			})
		}
		s.Peers = append(s.Peers, row)
	}
	return s
}

// observed lists a view under the keys of the vectors.
func observed(v *View, jobs []string) map[string]any {
	owner, isOwner := map[string]any{}, map[string]any{}
	available, isAvailable := map[string]any{}, map[string]any{}
	for _, job := range jobs {
		owner[job], isOwner[job] = nullable(v.JobOwner(job)), v.IsJobOwner(job)
		available[job], isAvailable[job] = nullable(v.AvailableOwner(job)), v.IsAvailableOwner(job)
	}
	return map[string]any{
		"cluster_size":           float64(v.Size()),
		"quorum":                 float64(v.Quorum()),
		"quorate":                v.Quorate(),
		"mutual_agreeing":        list(v.MutualAgreeing()),
		"bridge_candidates":      list(v.BridgeCandidates()),
		"eligible":               list(v.Eligible()),
		"unconfirmed_contenders": list(v.UnconfirmedContenders()),
		"available_contenders":   list(v.AvailableContenders()),
		"leader":                 nullable(v.Leader()),
		"is_leader":              v.IsLeader(),
		"job_owner":              owner,
		"available_leader":       nullable(v.AvailableLeader()),
		"is_available_leader":    v.IsAvailableLeader(),
		"available_job_owner":    available,
		"is_available_job_owner": isAvailable,
		"view_settled":           v.Settled(),
		"conflict":               v.Conflict(),
		"conflict_names":         list(v.ConflictNames()),
		"conflicting_sizes":      list(v.ConflictingSizes()),
		"policy_conflict":        len(v.ConflictingPolicies()) > 0,
	}
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func list[T string | int](in []T) []any {
	out := make([]any, 0, len(in))
	for _, x := range in {
		switch x := any(x).(type) {
		case int:
			out = append(out, float64(x))
		default:
			out = append(out, x)
		}
	}
	return out
}

func TestElectionVectors(t *testing.T) {
	for _, file := range vectorFiles(t, "election.json") {
		var vectors struct {
			Jobs  []string
			Cases []struct {
				View   vectorView
				Expect map[string]json.RawMessage
			}
		}
		readVectors(t, file, &vectors)
		if len(vectors.Cases) == 0 || len(vectors.Jobs) == 0 {
			t.Fatalf("%s: no cases", file)
		}
		for i, c := range vectors.Cases {
			got := observed(NewView(c.View.state()), vectors.Jobs)
			if len(c.Expect) == 0 {
				t.Fatalf("%s: case %d expects nothing", file, i)
			}
			keys := make([]string, 0, len(c.Expect))
			for key := range c.Expect {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			for _, key := range keys {
				value, ok := got[key]
				if !ok {
					t.Fatalf("%s: case %d: unknown key %q", file, i, key)
				}
				var want any
				if err := json.Unmarshal(c.Expect[key], &want); err != nil {
					t.Fatal(err)
				}
				a, _ := json.Marshal(value)
				b, _ := json.Marshal(want)
				if string(a) != string(b) {
					t.Errorf("%s: case %d: %s = %s, want %s", file, i, key, a, b)
				}
			}
		}
	}
}

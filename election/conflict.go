package election

import (
	"fmt"
	"slices"
	"strings"
)

// bearer is one instance under one name.
type bearer struct{ name, instanceID string }

// bearers collects which instances bear which names, as far as that is credible: told
// by the bearer itself, or by two different peers. One confused or lying peer must not
// be able to pause the cluster.
type bearers struct {
	credible map[string][]string // name → instances
	hearsay  map[bearer]string   // told by one peer so far → the teller's instance
}

func (b *bearers) believe(name, instanceID string) {
	if !slices.Contains(b.credible[name], instanceID) {
		b.credible[name] = append(b.credible[name], instanceID)
	}
}

func (b *bearers) hear(m Member, teller string) {
	if m.NodeName == "" || m.InstanceID == "" || slices.Contains(b.credible[m.NodeName], m.InstanceID) {
		return
	}
	key := bearer{m.NodeName, m.InstanceID}
	switch earlier, ok := b.hearsay[key]; {
	case !ok:
		b.hearsay[key] = teller
	case earlier != teller:
		b.believe(m.NodeName, m.InstanceID)
	}
}

func (v *View) computeConflicts() {
	s := &v.state
	b := bearers{credible: make(map[string][]string), hearsay: make(map[bearer]string)}
	b.believe(s.NodeName, s.InstanceID)
	fresh := make([]*Peer, 0, len(s.Peers))
	for i := range s.Peers {
		p := &s.Peers[i]
		if !p.Status.Fresh() || p.Status == StatusSelf {
			continue
		}
		fresh = append(fresh, p)
		if p.NodeName != "" && p.InstanceID != "" {
			b.believe(p.NodeName, p.InstanceID)
		}
	}
	for _, p := range fresh {
		teller := p.InstanceID
		if teller == "" {
			teller = p.Host
		}
		for _, m := range p.members() {
			b.hear(m, teller)
		}
	}

	v.conflictingInstances = make(map[string]bool)
	for name, instances := range b.credible {
		if len(instances) < 2 {
			continue
		}
		v.conflictNames = append(v.conflictNames, name)
		for _, id := range instances {
			if id != s.InstanceID {
				v.conflictingInstances[id] = true
			}
		}
	}
	slices.Sort(v.conflictNames)

	for _, p := range fresh {
		if p.Status != StatusAgreed {
			continue
		}
		if p.DeclaredSize != 0 && p.DeclaredSize != v.size {
			v.conflictingSizes = append(v.conflictingSizes, p.DeclaredSize)
			v.conflictingInstances[p.InstanceID] = true
		}
		for _, text := range v.policyDifferences(p) {
			v.conflictingPolicies = append(v.conflictingPolicies, text)
			v.conflictingInstances[p.InstanceID] = true
		}
	}
	slices.Sort(v.conflictingSizes)
	v.conflictingSizes = slices.Compact(v.conflictingSizes)
	slices.Sort(v.conflictingPolicies)
	v.conflictingPolicies = slices.Compact(v.conflictingPolicies)
}

// policyDifferences describes how the peer coordinates by other rules than this node:
// its value, then ours. The spelling of the values is what the API has always shown.
func (v *View) policyDifferences(p *Peer) []string {
	var out []string
	if p.DeclaredPolicy != "" && p.DeclaredPolicy != v.Distribution() {
		out = append(out, fmt.Sprintf("distribution '%s' != '%s'", p.DeclaredPolicy, v.Distribution()))
	}
	if e := p.DeclaredElectLeader; e != nil && *e != v.state.ElectLeader {
		out = append(out, fmt.Sprintf("electLeader %s != %s", shownBool(*e), shownBool(v.state.ElectLeader)))
	}
	return out
}

func shownBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// ConflictText says in words what pauses Leader jobs; "" without a conflict.
func (v *View) ConflictText() string {
	var parts []string
	if len(v.conflictNames) > 0 {
		parts = append(parts, "more than one process bears the node name "+listed(v.conflictNames))
	}
	if len(v.conflictingSizes) > 0 {
		parts = append(parts, fmt.Sprintf("this node counts %d nodes, peers count %s", v.size, listed(v.conflictingSizes)))
	}
	if len(v.conflictingPolicies) > 0 {
		parts = append(parts, "peers coordinate by other rules: "+listed(v.conflictingPolicies))
	}
	return strings.Join(parts, "; ")
}

// listed joins the first few of a list that peers made: its length is theirs to choose.
func listed[T any](list []T) string {
	const shown = 5
	texts := make([]string, 0, shown+1)
	for _, x := range list[:min(len(list), shown)] {
		texts = append(texts, fmt.Sprint(x))
	}
	if more := len(list) - shown; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

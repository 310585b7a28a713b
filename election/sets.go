package election

import (
	"maps"
	"slices"
)

// maxTold bounds what the sets take from one peer's list, whoever decoded it: a peer
// is trusted to be a member, not to be well-behaved.
const maxTold = 4096

// holdRounds is the number of scheduled rounds within which peers must have noticed a
// fresh manager; its view is held until then.
const holdRounds = 3

// names is a set of node names.
type names map[string]struct{}

func (n names) add(name string)      { n[name] = struct{}{} }
func (n names) has(name string) bool { _, ok := n[name]; return ok }
func (n names) sorted() []string     { return slices.Sorted(maps.Keys(n)) }

// first returns the lowest of sorted names, "" if there are none.
func first(sorted []string) string {
	if len(sorted) == 0 {
		return ""
	}
	return sorted[0]
}

// told returns the part of a peer's list that counts, sorted: each name once, no empty
// ones. Peers tell sorted lists as a rule; those are returned as they are.
func told(list []string) []string {
	list = list[:min(len(list), maxTold)]
	ascending := true
	for i, name := range list {
		if name == "" || i > 0 && list[i-1] >= name {
			ascending = false
			break
		}
	}
	if ascending {
		return list
	}
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	if list[0] == "" {
		list = list[1:]
	}
	return list
}

// members returns the part of a peer's members list that counts.
func (p *Peer) members() []Member { return p.Members[:min(len(p.Members), maxTold)] }

// mentions reports whether the peer lists the instance, and whether as agreed.
func (p *Peer) mentions(instanceID string) (mentioned, agreed bool) {
	for _, m := range p.members() {
		if m.InstanceID == instanceID {
			mentioned = true
			if m.Agreed {
				return true, true
			}
		}
	}
	return mentioned, false
}

// compute fills in a gossip view. The order matters: each step rests on those before.
func (v *View) compute() {
	v.computeSize()
	v.computeConflicts()
	mutual := v.computeMutual()
	v.computeSets(mutual)
	v.settled = v.converged()
	v.computeTwins()
}

func (v *View) computeSize() {
	s := &v.state
	configured := s.ConfiguredSize
	if configured <= 0 {
		configured = len(s.Peers) + 1
	}
	var self, repeats int
	seen := make(names, len(s.Peers))
	for i := range s.Peers {
		p := &s.Peers[i]
		switch {
		case p.Status == StatusSelf:
			self++
		case p.InstanceID == "":
		case seen.has(p.InstanceID):
			repeats++
		default:
			seen.add(p.InstanceID)
		}
	}
	v.size = max(configured-self-repeats, 1)
	v.claimSize = max(configured-self, 1)
	v.quorum = Quorum(v.size)
}

// Quorum returns the strict majority of n nodes.
func Quorum(n int) int { return n/2 + 1 }

// sameTerms reports whether the peer elects by this node's size and policy, as far as
// it told. Nodes of other sizes must not count for each other: two majorities of
// different sizes can be disjoint.
func (v *View) sameTerms(p *Peer) bool {
	return (p.DeclaredSize == 0 || p.DeclaredSize == v.size) &&
		(p.DeclaredPolicy == "" || p.DeclaredPolicy == v.Distribution()) &&
		(p.DeclaredElectLeader == nil || *p.DeclaredElectLeader == v.state.ElectLeader)
}

// computeMutual returns the mutual peers, one row per instance, and fills in their
// names.
func (v *View) computeMutual() []*Peer {
	var rows []*Peer
	seen := make(names)
	for i := range v.state.Peers {
		p := &v.state.Peers[i]
		if p.Status != StatusAgreed || p.NodeName == "" || p.NodeName == v.state.NodeName ||
			seen.has(p.InstanceID) || !v.sameTerms(p) {
			continue
		}
		if p.Members != nil {
			if _, agreed := p.mentions(v.state.InstanceID); !agreed {
				continue
			}
		}
		if p.InstanceID != "" {
			seen.add(p.InstanceID)
		}
		rows = append(rows, p)
		v.mutual = append(v.mutual, p.NodeName)
	}
	slices.Sort(v.mutual)
	return rows
}

// stoppingNames returns the names of the nodes that are known to hand over. What this
// node heard from a node itself comes before what others tell of it; a namesake that
// goes on keeps the name electable. No process takes back that it stops.
func (v *View) stoppingNames() names {
	met, stopping := make(names), make(names) // instance ids
	for i := range v.state.Peers {
		p := &v.state.Peers[i]
		if p.Status.Fresh() {
			met.add(p.InstanceID)
		}
		if p.Stopping {
			stopping.add(p.InstanceID)
		}
	}
	for i := range v.state.Peers {
		if p := &v.state.Peers[i]; p.Status.Fresh() {
			for _, m := range p.members() {
				if m.Stopping && !met.has(m.InstanceID) {
					stopping.add(m.InstanceID)
				}
			}
		}
	}
	set := make(names)
	if len(stopping) == 0 {
		return set
	}
	goesOn := make(names)
	note := func(name, instanceID string, bears bool) {
		switch {
		case stopping.has(instanceID):
			set.add(name)
		case bears:
			goesOn.add(name)
		}
	}
	for i := range v.state.Peers {
		p := &v.state.Peers[i]
		note(p.NodeName, p.InstanceID, p.Status.Fresh())
		if p.Status.Fresh() {
			for _, m := range p.members() {
				note(m.NodeName, m.InstanceID, m.Agreed)
			}
		}
	}
	for name := range goesOn {
		delete(set, name)
	}
	return set
}

func (v *View) computeSets(mutual []*Peer) {
	me := v.state.NodeName
	stopping := v.stoppingNames()
	known := make(names, len(mutual)+1) // {me} ∪ mutual
	known.add(me)
	for _, p := range mutual {
		known.add(p.NodeName)
	}

	// Two instances of one name are one witness: what they tell could be one node's
	// word before and after a restart.
	witnesses := make(map[string]int) // per name that is not known
	testified := make(map[bearer]bool)
	available := make(names)
	confirmed := make(names) // eligible, as a set
	for _, p := range mutual {
		agreeing := told(p.MutualAgreeing)
		switch {
		case p.Stopping:
		case len(agreeing) >= v.quorum-1:
			v.eligible = append(v.eligible, p.NodeName)
			confirmed.add(p.NodeName)
		default:
			v.unconfirmedMutual = true
		}
		for _, name := range agreeing {
			if known.has(name) || stopping.has(name) {
				continue
			}
			available.add(name)
			if key := (bearer{name, p.NodeName}); !testified[key] {
				testified[key] = true
				witnesses[name]++
			}
		}
	}
	bridges := make(names)
	for name, n := range witnesses {
		if n+1 >= v.quorum {
			bridges.add(name)
			confirmed.add(name)
		}
	}
	unconfirmed := make(names)
	for _, p := range mutual {
		for _, name := range told(p.QuorateVouched) {
			if !known.has(name) && !confirmed.has(name) && !stopping.has(name) {
				unconfirmed.add(name)
			}
		}
	}

	v.bridges = bridges.sorted()
	v.eligible = append(v.eligible, v.bridges...)
	slices.Sort(v.eligible)
	v.unconfirmed = unconfirmed.sorted()
	v.availableContenders = available.sorted()

	if !v.state.Stopping {
		confirmed.add(me)
		available.add(me)
	}
	for _, p := range mutual {
		if !p.Stopping {
			available.add(p.NodeName)
		}
	}
	v.electorate = confirmed.sorted()
	v.availableElectorate = available.sorted()
	maps.Copy(unconfirmed, confirmed)
	v.spreadElectorate = unconfirmed.sorted()
}

// converged reports that no hold applies: every peer was contacted once, and the
// peers have noticed this incarnation or had time enough to.
func (v *View) converged() bool {
	for i := range v.state.Peers {
		p := &v.state.Peers[i]
		if p.Status == StatusUnknown {
			return false
		}
		if v.state.Rounds < holdRounds && p.Status == StatusAgreed && p.Members != nil {
			if mentioned, _ := p.mentions(v.state.InstanceID); !mentioned {
				return false
			}
		}
	}
	return true
}

// converging reports that the electorate may still be about to change because the
// manager is fresh: a hold applies, or a mutual peer has yet to tell that it sees a
// quorum, which it will within the rounds of a hold if it does at all.
func (v *View) converging() bool {
	if v.state.Lease != nil {
		return false
	}
	return !v.settled || v.state.Rounds < holdRounds && v.unconfirmedMutual
}

// Report returns what this node tells its peers: its own entry first in the members
// list, then every peer that answered in the newest exchange under a name. ranReboot
// lists the @reboot jobs known to have run under the view's job-set id; the caller adds
// RebootHolders.
func (v *View) Report(ranReboot []string) Report {
	s := &v.state
	elect := s.ElectLeader
	members := make([]Member, 1, len(s.Peers)+1)
	members[0] = Member{NodeName: s.NodeName, InstanceID: s.InstanceID, Agreed: true, Stopping: s.Stopping}
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Status == StatusSelf || !p.Status.Fresh() || p.NodeName == "" {
			continue
		}
		members = append(members, Member{
			NodeName: p.NodeName, InstanceID: p.InstanceID, Agreed: p.Status == StatusAgreed, Stopping: p.Stopping,
		})
	}
	return Report{
		NodeName:       s.NodeName,
		InstanceID:     s.InstanceID,
		JobSetID:       s.JobSetID,
		Size:           v.size,
		Policy:         v.Distribution(),
		ElectLeader:    &elect,
		Members:        members,
		MutualAgreeing: v.mutual,
		QuorateVouched: v.eligible,
		RanRebootJobs:  ranReboot,
		Stopping:       s.Stopping,
	}
}

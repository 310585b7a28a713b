package election

import "slices"

// twin is a lower instance of this node's own name, with the nodes among which it
// chooses.
type twin struct {
	instanceID string
	electorate []string
}

// computeTwins collects the instances that run never-skip jobs before this one: fresh
// rows with this node's name and a lower instance id.
func (v *View) computeTwins() {
	s := &v.state
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.NodeName != s.NodeName || p.Status == StatusSelf || !p.Status.Fresh() || p.Stopping ||
			p.InstanceID == "" || p.InstanceID >= s.InstanceID {
			continue
		}
		v.twins = append(v.twins, twin{p.InstanceID, told(slices.Concat([]string{s.NodeName}, p.MutualAgreeing))})
	}
}

// lowerTwin returns the twin that is the available leader by what it told, "" if this
// node is the lowest of its name.
func (v *View) lowerTwin() string {
	for _, t := range v.twins {
		if first(t.electorate) == v.state.NodeName {
			return t.instanceID
		}
	}
	return ""
}

// lowerTwinOf is lowerTwin for one job under spread.
func (v *View) lowerTwinOf(job string) string {
	for _, t := range v.twins {
		if rendezvous(job, t.electorate) == v.state.NodeName {
			return t.instanceID
		}
	}
	return ""
}

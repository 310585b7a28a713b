package agent

import (
	"net/http"
	"time"

	"github.com/yacron2/yacron2/api"
	"github.com/yacron2/yacron2/election"
)

func (a *httpAPI) cluster(w http.ResponseWriter, _ *http.Request) {
	view, err := a.coordination.State()
	if view == nil {
		answer := api.Cluster{}
		if err != nil {
			answer.Error = err.Error()
		}
		a.json(w, answer)
		return
	}
	answer := apiCluster(view)
	for _, e := range a.expiries() {
		answer.Certificates = append(answer.Certificates, api.Certificate{Use: e.use, Expires: api.At(e.at)})
	}
	answer.Troubles = a.troubles()
	a.json(w, answer)
}

// troubles says what somebody has to put right on this very node.
func (a *httpAPI) troubles() []string {
	list := a.coordination.Troubles()
	if loaded := a.loaded(); loaded.failure != nil {
		list = append(list, "the files of the configuration are refused, and what was loaded before stays in effect: yacron2 reload says why")
	}
	return list
}

// apiCluster puts a view into its wire form.
func apiCluster(v *election.View) api.Cluster {
	c := api.Cluster{
		Enabled:             true,
		Backend:             v.Backend(),
		NodeName:            v.NodeName(),
		JobSetID:            v.JobSetID(),
		ClusterSize:         v.Size(),
		Quorum:              v.Quorum(),
		ElectLeader:         v.ElectLeader(),
		Distribution:        string(v.Distribution()),
		Conflict:            v.Conflict(),
		ConflictNames:       v.ConflictNames(),
		ConflictingSizes:    v.ConflictingSizes(),
		ConflictingPolicies: v.ConflictingPolicies(),
		Quorate:             v.Quorate(),
		InstanceID:          v.InstanceID(),
		Stopping:            v.Stopping(),
		Peers:               []api.Peer{},
	}
	c.SizeConflict = len(c.ConflictingSizes) > 0
	c.PolicyConflict = len(c.ConflictingPolicies) > 0
	// Under spread every job has its own owner, so that nobody is *the* leader.
	if v.Distribution() != election.Spread {
		c.Leader = api.NullString(v.Leader())
		c.IsLeader = v.IsLeader()
	}
	if lease := v.Lease(); lease != nil {
		identity, own := lease.Detail["identity"].(string)
		if !own {
			identity = v.NodeName()
		}
		c.Lease = &api.Lease{
			Identity: identity,
			Holder:   api.NullString(lease.Holder),
			Expiry:   api.Expiry{Time: lease.Expiry},
			Detail:   lease.Detail,
		}
		return c
	}
	c.Agreeing = 1 + len(v.MutualAgreeing())
	for _, p := range v.Peers() {
		c.Peers = append(c.Peers, api.Peer{
			Host:           p.Host,
			Status:         string(p.Status),
			JobSetID:       api.NullString(p.JobSetID),
			NodeName:       api.NullString(p.NodeName),
			LastSeen:       api.At(p.LastSeen),
			LastError:      api.NullString(p.LastError),
			MismatchStreak: p.MismatchStreak,
			InstanceID:     p.InstanceID,
			Stopping:       p.Stopping,
			Clock:          apiClock(p.Skew),

			CertificateExpires: api.At(p.CertificateExpires),
			Members:            apiMembers(p.Members),
			ClusterSize:        p.DeclaredSize,
			Distribution:       string(p.DeclaredPolicy),
			ElectLeader:        p.DeclaredElectLeader,
		})
	}
	return c
}

// apiMembers puts what a peer tells of the others into its wire form; nil is nothing.
func apiMembers(told []election.Member) []api.ToldMember {
	var list []api.ToldMember
	for _, m := range told {
		list = append(list, api.ToldMember{NodeName: m.NodeName, InstanceID: m.InstanceID, Agreed: m.Agreed, Stopping: m.Stopping})
	}
	return list
}

// apiClock puts a comparison of clocks into its wire form; nil is none.
func apiClock(s *election.Skew) *api.Clock {
	if s == nil {
		return nil
	}
	return &api.Clock{
		Ahead: s.Ahead.Round(time.Microsecond).Seconds(), Within: s.Error.Round(time.Microsecond).Seconds(), Excessive: s.Excessive,
	}
}

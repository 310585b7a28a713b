package gossip

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/memberlist"
)

// announcementLen is the size of a version announcement: the instance id (16 bytes)
// and the version of its state (64 bits).
const announcementLen = 24

// appendAnnouncement writes the announcement of an instance's version.
func appendAnnouncement(b []byte, instance string, version uint64) []byte {
	raw, _ := hex.DecodeString(instance)
	b = append(b, raw...)
	return binary.BigEndian.AppendUint64(b, version)
}

// parseAnnouncement reads an announcement; ok is false for anything else.
func parseAnnouncement(b []byte) (instance string, version uint64, ok bool) {
	if len(b) != announcementLen {
		return "", 0, false
	}
	return hex.EncodeToString(b[:16]), binary.BigEndian.Uint64(b[16:]), true
}

// announcement is a queued broadcast; a newer one replaces it.
type announcement []byte

func (a announcement) Invalidates(memberlist.Broadcast) bool { return true }
func (a announcement) Message() []byte                       { return a }
func (a announcement) Finished()                             {}

// delegate is what memberlist calls. Most calls happen under memberlist's own lock:
// they only look something up and signal.
type delegate struct {
	self  string
	table *table
	// want asks for an exchange with the peer in a row.
	want  func(row int)
	state func() []byte
	queue *memberlist.TransmitLimitedQueue
	off   atomic.Bool // after Stop nothing is called back
}

var (
	_ memberlist.Delegate      = (*delegate)(nil)
	_ memberlist.EventDelegate = (*delegate)(nil)
	_ memberlist.AliveDelegate = (*delegate)(nil)
)

// NodeMeta is empty: memberlist ends the process over meta data that is too long.
func (d *delegate) NodeMeta(int) []byte { return nil }

// NotifyMsg takes a version announcement. It may be forged; it only leads to an
// exchange, and a version counts once.
func (d *delegate) NotifyMsg(b []byte) {
	instance, version, ok := parseAnnouncement(b)
	if !ok || d.off.Load() || instance == d.self {
		return
	}
	for _, row := range d.table.announced(instance, version) {
		d.want(row)
	}
}

// GetBroadcasts returns the announcement that is still to be repeated.
func (d *delegate) GetBroadcasts(overhead, limit int) [][]byte {
	return d.queue.GetBroadcasts(overhead, limit)
}

// LocalState returns what this node tells its peers, with its trailer.
func (d *delegate) LocalState(bool) []byte {
	if d.off.Load() {
		return nil
	}
	return appendTrailer(d.state())
}

// MergeRemoteState discards: memberlist does not say whose state it is, and what a
// peer pushes looks the same as what this node asked for. States are taken from the
// streams that links opened, see link.exchange.
func (d *delegate) MergeRemoteState([]byte, bool) {}

// errStranger keeps members out of memberlist that are not of this cluster.
var errStranger = errors.New("no configured host is bound to this instance")

// NotifyAlive accepts this node and the instances bound to configured hosts, under
// their own label and with the protocol versions of this build's memberlist; one
// member with others would make every push fail.
func (d *delegate) NotifyAlive(n *memberlist.Node) error {
	if n.Name != d.self {
		if len(d.table.boundTo(n.Name)) == 0 {
			return errStranger
		}
	}
	if !n.Addr.Equal(labelIP(n.Name)) || n.Port != labelPort || len(n.Meta) > 0 {
		return fmt.Errorf("not the label of this instance")
	}
	const version = memberlist.ProtocolVersion2Compatible
	if n.PMin > version || n.PMax < version || n.PCur != version || n.DMin != 0 || n.DCur != 0 {
		return fmt.Errorf("protocol versions %d-%d-%d, %d-%d-%d do not fit", n.PMin, n.PCur, n.PMax, n.DMin, n.DCur, n.DMax)
	}
	return nil
}

// NotifyJoin, NotifyLeave and NotifyUpdate say that memberlist changed its mind about
// a member: reason to ask that member itself.
func (d *delegate) NotifyJoin(n *memberlist.Node) { d.notify(n) }

// NotifyLeave is described at NotifyJoin.
func (d *delegate) NotifyLeave(n *memberlist.Node) { d.notify(n) }

// NotifyUpdate is described at NotifyJoin.
func (d *delegate) NotifyUpdate(n *memberlist.Node) { d.notify(n) }

func (d *delegate) notify(n *memberlist.Node) {
	if d.off.Load() || n.Name == d.self {
		return
	}
	for _, row := range d.table.boundTo(n.Name) {
		d.want(row)
	}
}

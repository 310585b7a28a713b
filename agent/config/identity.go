package config

import (
	"os/user"
	"runtime"
	"strconv"

	"github.com/yacron2/yacron2/scheduler"
)

// account is a user that was looked up once.
type account struct {
	runAs scheduler.RunAs
	err   error
}

type group struct {
	id  uint32
	err error
}

// account resolves user and group, which only root can switch to.
func (b *jobBuilder) account() {
	un, gn := b.all.get("user"), b.all.get("group")
	if un != nil && (un.kind != scalar || un.text == "") || gn != nil && (gn.kind != scalar || gn.text == "") {
		return
	}
	if un == nil && gn == nil {
		return
	}
	var as scheduler.RunAs
	if un != nil {
		b.job.User = identityOf(un.text)
		if runtime.GOOS == "windows" {
			b.fail(un, "user", "user cannot be set on Windows", "")
			return
		}
		acc := b.lookupUser(b.job.User)
		if acc.err != nil {
			b.fail(un, "user", "there is no user "+quote(un.text)+" on this machine", "")
			return
		}
		as = acc.runAs
	}
	if gn != nil {
		b.job.Group = identityOf(gn.text)
		if runtime.GOOS == "windows" {
			b.fail(gn, "group", "group cannot be set on Windows", "")
			return
		}
		g := b.lookupGroup(b.job.Group)
		if g.err != nil {
			b.fail(gn, "group", "there is no group "+quote(gn.text)+" on this machine", "")
			return
		}
		as.GID = &g.id
	}
	if !b.host.Root() {
		at, key := un, "user"
		if at == nil {
			at, key = gn, "group"
		}
		b.fail(at, key, key+" needs an agent that runs as root", "")
		return
	}
	b.job.RunAs = &as
}

// identityOf reads a name or a number. A number counts as one, quoted or not.
func identityOf(text string) *scheduler.Identity {
	if id, err := strconv.ParseUint(text, 10, 32); err == nil {
		return &scheduler.Identity{ID: uint32(id), IsID: true}
	}
	return &scheduler.Identity{Name: text}
}

// lookupUser finds uid, gid, groups and login name. A number without an entry keeps
// the agent's group and has no login name.
func (l *loader) lookupUser(id *scheduler.Identity) account {
	key := id.Name
	if id.IsID {
		key = "#" + strconv.FormatUint(uint64(id.ID), 10)
	}
	acc, ok := l.users[key]
	if ok {
		return acc
	}
	var u *user.User
	if id.IsID {
		uid := id.ID
		acc.runAs.UID = &uid
		u, _ = l.host.LookupUserID(strconv.FormatUint(uint64(id.ID), 10))
	} else {
		u, acc.err = l.host.LookupUser(id.Name)
	}
	if u != nil && acc.err == nil {
		acc.err = l.fillAccount(&acc.runAs, u)
	}
	l.users[key] = acc
	return acc
}

func (l *loader) fillAccount(as *scheduler.RunAs, u *user.User) error {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	uid32, gid32 := uint32(uid), uint32(gid)
	as.UID, as.GID = &uid32, &gid32
	as.Login, as.Home = u.Username, u.HomeDir
	as.Shell = loginShell(u.Username)
	ids, err := l.host.GroupIDs(u)
	if err != nil {
		return err
	}
	for _, s := range ids {
		if g, err := strconv.ParseUint(s, 10, 32); err == nil {
			as.Groups = append(as.Groups, uint32(g))
		}
	}
	return nil
}

func (l *loader) lookupGroup(id *scheduler.Identity) group {
	if id.IsID {
		return group{id: id.ID}
	}
	g, ok := l.groups[id.Name]
	if ok {
		return g
	}
	found, err := l.host.LookupGroup(id.Name)
	if err == nil {
		var n uint64
		n, err = strconv.ParseUint(found.Gid, 10, 32)
		g.id = uint32(n)
	}
	g.err = err
	l.groups[id.Name] = g
	return g
}

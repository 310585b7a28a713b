package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/yacron2/yacron2/internal/netcluster"
	"github.com/yacron2/yacron2/internal/testcluster"
)

// processes run containers where there is no engine for them: each is a process with a
// root folder, network and host name of its own, made of what this machine has.
type processes struct{ net *netcluster.Net }

func newProcesses(t *testing.T, p *project) engine {
	t.Helper()
	netcluster.Require(t)
	return processes{netcluster.New(t, slices.Sorted(maps.Keys(p.Services))...)}
}

// enter makes a root folder for a container, of what this machine has, and becomes a
// program in it. Nothing of it is seen outside of the mount namespace that it runs in.
const enter = `
root=$1 host=$2 mounts=$3; shift 3
hostname "$host"
mount -t tmpfs -o mode=755 container "$root"
cd "$root"
mkdir -p proc dev tmp etc run var/lib/yacron2 program
chmod 1777 tmp
for d in bin sbin lib lib32 lib64 usr; do
	if [ -L "/$d" ]; then ln -s "$(readlink "/$d")" "$d"
	elif [ -d "/$d" ]; then mkdir "$d"; mount --rbind "/$d" "$d"; fi
done
mount --rbind /proc proc
mount --rbind /dev dev
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/hosts etc/ 2>/dev/null || true
cp /etc/resolv.conf etc/ 2>/dev/null || true
while read -r from to how; do
	mkdir -p "./$(dirname "$to")"
	if [ -d "$from" ]; then mkdir -p "./$to"; else : >"./$to"; fi
	mount --bind "$from" "./$to"
	if [ "$how" = ro ]; then mount -o remount,bind,ro "./$to"; fi
done <"$mounts"
exec chroot "$root" "$@"`

func (e processes) command(p *project, name string) *exec.Cmd {
	p.t.Helper()
	s := p.Services[name]
	dir := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
		p.t.Fatal(err)
	}
	mounts := testcluster.Binary(p.t) + " /program/yacron2 ro\n"
	for _, text := range s.Volumes {
		v := p.volume(p.t, text)
		from, how := v.file, "rw"
		if v.name != "" {
			from = filepath.Join(p.dir, "volume-"+v.name)
			if err := os.MkdirAll(from, 0o755); err != nil {
				p.t.Fatal(err)
			}
		}
		if v.readOnly {
			how = "ro"
		}
		mounts += from + " " + v.to + " " + how + "\n"
	}
	list := filepath.Join(dir, "mounts")
	if err := os.WriteFile(list, []byte(mounts), 0o644); err != nil {
		p.t.Fatal(err)
	}
	host := s.Hostname
	if host == "" {
		host = name
	}
	words := append(e.net.Prefix(name), "unshare", "--uts", "sh", "-ec", enter, "sh", filepath.Join(dir, "root"), host, list)
	words = append(words, s.words(p.image)...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = []string{"PATH=/program:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/"}
	for _, key := range slices.Sorted(maps.Keys(s.Environment)) {
		cmd.Env = append(cmd.Env, key+"="+s.Environment[key])
	}
	return cmd
}

// beside shares no more than the network.
func (e processes) beside(p *project, name string, words ...string) *exec.Cmd {
	p.t.Helper()
	words = slices.Clone(words)
	if words[0] == "yacron2" {
		words[0] = testcluster.Binary(p.t)
	}
	words = append(e.net.Prefix(name), words...)
	return exec.Command(words[0], words[1:]...)
}

func (processes) kill(p *project, name string) error { return p.containers[name].cmd.Process.Kill() }

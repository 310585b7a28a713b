package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkDebian asks dpkg-deb what it makes of the package, and installs it.
func checkDebian(t *testing.T, nfpm, deb string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		missing(t, "dpkg-deb")
		return
	}
	ask := func(args ...string) string {
		out, err := exec.Command("dpkg-deb", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("dpkg-deb %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	if got := ask("--field", deb, "Package", "Version", "Architecture"); got != "Package: yacron2\nVersion: 9.8.7\nArchitecture: amd64\n" {
		t.Errorf("fields %q", got)
	}
	list := ask("--contents", deb)
	for _, want := range []string{
		"-rwxr-xr-x root/root", "./usr/bin/yacron2\n", "./usr/lib/systemd/system/yacron2.service\n", "./etc/yacron2.d/\n",
		"./usr/share/bash-completion/completions/yacron2\n", "./usr/share/doc/yacron2/copyright\n",
	} {
		if !strings.Contains(list, want) {
			t.Errorf("the package lacks %q:\n%s", want, list)
		}
	}
	dir := t.TempDir()
	ask("--control", deb, dir)
	for _, script := range []string{"postinst", "prerm", "postrm"} {
		if out, err := exec.Command("sh", "-n", filepath.Join(dir, script)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
	if os.Geteuid() != 0 {
		t.Log("not installed: dpkg needs root for that")
		return
	}
	checkInstallation(t, nfpm, deb)
}

// debianRoot is a system of nothing but dpkg's records and the packages in it.
type debianRoot struct {
	t   *testing.T
	dir string
	bin string // has a systemctl that writes down what it is asked
}

func newDebianRoot(t *testing.T) *debianRoot {
	t.Helper()
	d := &debianRoot{t: t, dir: t.TempDir(), bin: t.TempDir()}
	for _, dir := range []string{"var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "run/systemd/system"} {
		if err := os.MkdirAll(d.path(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d.write(d.path("var/lib/dpkg/status"), "")
	// Nothing here runs units. The package's scripts believe that something does, since
	// the folder is there by which they tell.
	d.write(filepath.Join(d.bin, "systemctl"), "#!/bin/sh\necho \"$*\" >>\"$DPKG_ROOT/asked\"\n")
	return d
}

func (d *debianRoot) path(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *debianRoot) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		d.t.Fatal(err)
	}
}

// dpkg does something with the package, and returns what systemctl was asked meanwhile.
func (d *debianRoot) dpkg(args ...string) string {
	d.t.Helper()
	cmd := exec.Command("dpkg", append([]string{"--root=" + d.dir, "--force-script-chrootless", "--no-triggers"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+d.bin+":/usr/sbin:/usr/bin:/sbin:/bin")
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("dpkg %v: %v: %s", args, err, out)
	}
	asked, err := os.ReadFile(d.path("asked"))
	if err != nil {
		return ""
	}
	if err := os.Remove(d.path("asked")); err != nil {
		d.t.Fatal(err)
	}
	return string(asked)
}

// holds fails the test unless the file exists, or does not.
func (d *debianRoot) holds(name string, want bool) {
	d.t.Helper()
	if exists(d.path(name)) != want {
		d.t.Errorf("%s exists: %v, want %v", name, !want, want)
	}
}

// checkInstallation leads the package through its life: installed, upgraded, removed,
// purged.
func checkInstallation(t *testing.T, nfpm, deb string) {
	t.Helper()
	d := newDebianRoot(t)
	expect := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	program := d.path("usr/bin/yacron2")
	version := func() string {
		out, err := exec.Command(program, "version").Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}

	expect("systemctl at the installation", d.dpkg("--install", deb), "daemon-reload\n")
	expect("version", version(), "9.8.7\n")
	unit, err := os.ReadFile(filepath.Join(sourceTree, "example", "systemd", "yacron2.service"))
	if err != nil {
		t.Fatal(err)
	}
	installed, err := os.ReadFile(d.path("usr/lib/systemd/system/yacron2.service"))
	if err != nil {
		t.Fatal(err)
	}
	expect("unit", string(installed), string(unit))
	d.holds("usr/share/doc/yacron2/THIRD_PARTY_LICENSES.txt", true)
	if out, err := exec.Command(program, "validate", d.path("usr/share/doc/yacron2/examples/jobs.hcl")).CombinedOutput(); err != nil {
		t.Errorf("validate an example: %v: %s", err, out)
	}

	// What its owner has put there, and what the agent has.
	d.write(d.path("etc/yacron2.d/jobs.yaml"), "jobs:\n  - {name: a, schedule: '@daily', command: 'true'}\n")
	if err := os.Mkdir(d.path("var/lib/yacron2"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.write(d.path("var/lib/yacron2/history.db"), "")
	if out, err := exec.Command(program, "validate", "-config-dir", d.path("etc/yacron2.d")).CombinedOutput(); err != nil {
		t.Errorf("validate: %v: %s", err, out)
	}

	// The next version, of the same program.
	common := []file{{name: "yacron2.service", content: unit, mode: 0o644}, {name: "example/README.md", mode: 0o644}}
	for _, name := range []string{"LICENSE", "THIRD_PARTY_LICENSES.txt", "CHANGELOG.md", "completion/yacron2.bash", "completion/yacron2.zsh", "completion/yacron2.fish"} {
		common = append(common, file{name: name, mode: 0o644})
	}
	next := &release{out: t.TempDir(), version: "9.8.8", time: noon, nfpm: nfpm}
	if err := next.debian(t.Context(), targets()[0], program, common, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	expect("systemctl at an upgrade", d.dpkg("--install", filepath.Join(next.out, "yacron2_9.8.8_amd64.deb")),
		"daemon-reload\ntry-restart --no-block yacron2.service\n")
	d.holds("etc/yacron2.d/jobs.yaml", true)
	d.holds("var/lib/yacron2/history.db", true)
	expect("version", version(), "9.8.7\n")

	expect("systemctl at the removal", d.dpkg("--remove", "yacron2"), "disable --now yacron2.service\ndaemon-reload\n")
	d.holds("usr/bin/yacron2", false)
	d.holds("usr/lib/systemd/system/yacron2.service", false)
	d.holds("etc/yacron2.d/jobs.yaml", true)
	d.holds("var/lib/yacron2/history.db", true)

	expect("systemctl at a purge", d.dpkg("--purge", "yacron2"), "")
	d.holds("etc/yacron2.d/jobs.yaml", true)
	d.holds("var/lib/yacron2", false)
}

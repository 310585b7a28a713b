package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

//go:embed debian/nfpm.yaml
var nfpmText string

//go:embed debian/postinst
var postinst []byte

//go:embed debian/prerm
var prerm []byte

//go:embed debian/postrm
var postrm []byte

// debian makes the Debian package of a target.
func (r *release) debian(ctx context.Context, t target, program string, common []file, work string) error {
	// nfpm is called in the source tree, its paths must not depend on where that is.
	nfpm, err := filepath.Abs(r.nfpm)
	if err != nil {
		return err
	}
	if !strings.ContainsRune(r.nfpm, filepath.Separator) {
		nfpm = r.nfpm
	}
	dir := filepath.Join(work, "debian-"+t.name())
	files := append([]file{
		{name: "postinst", content: postinst, mode: 0o755},
		{name: "prerm", content: prerm, mode: 0o755},
		{name: "postrm", content: postrm, mode: 0o755},
	}, common...)
	for _, f := range files {
		to := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.content, os.FileMode(f.mode)); err != nil { //nolint:gosec // one of two constants
			return err
		}
		// Of files that nfpm finds in a folder it takes the times as well.
		if err := os.Chtimes(to, r.time, r.time); err != nil {
			return err
		}
	}
	config, err := template.New("nfpm").Parse(nfpmText)
	if err != nil {
		return err
	}
	var text strings.Builder
	if err := config.Execute(&text, map[string]string{
		"Arch": t.debian(), "Version": r.version, "Program": program, "Dir": dir, "Time": r.time.Format(time.RFC3339),
	}); err != nil {
		return err
	}
	name := filepath.Join(dir, "nfpm.yaml")
	if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
		return err
	}
	to, err := filepath.Abs(filepath.Join(r.out, fmt.Sprintf("yacron2_%s_%s.deb", r.version, t.debian())))
	if err != nil {
		return err
	}
	_, err = output(ctx, dir, []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix())}, nfpm,
		"package", "--config", name, "--packager", "deb", "--target", to)
	return err
}

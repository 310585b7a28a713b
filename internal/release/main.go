// Command release builds what a release consists of: an archive for each system, Debian
// packages, and their sums. The same source gives the same bytes, wherever and whenever it
// is built: programs are static and hold no paths, and all times are that of the commit.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	var r release
	var only string
	fs.StringVar(&r.version, "version", "", "`VERSION` without a leading v; otherwise that of the source")
	fs.StringVar(&r.root, "root", ".", "`DIR` of the source tree")
	fs.StringVar(&r.out, "out", "dist", "`DIR` for what is built; it is emptied first")
	fs.StringVar(&r.nfpm, "nfpm", "bin/nfpm", "`PROGRAM` that makes Debian packages; none are made if it is empty")
	fs.StringVar(&only, "target", "", "build for this `OS/ARCH` alone")
	licenses := fs.Bool("licenses", false, "only list the licenses of all modules that are built in")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *licenses {
		return r.printLicenses(ctx, os.Stdout)
	}
	for _, t := range targets() {
		if only == "" || only == t.String() {
			r.targets = append(r.targets, t)
		}
	}
	if len(r.targets) == 0 {
		return fmt.Errorf("nothing is built for %q: choose of %v", only, targets())
	}
	var err error
	if r.time, err = commitTime(ctx, r.root, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	return r.build(ctx)
}

// commitTime is the time that everything in a release has: that of the newest commit, or
// epoch in seconds, if there is one.
func commitTime(ctx context.Context, root, epoch string) (time.Time, error) {
	if epoch == "" {
		out, err := output(ctx, root, nil, "git", "log", "-1", "--format=%ct")
		if err != nil {
			return time.Time{}, fmt.Errorf("without git, set SOURCE_DATE_EPOCH: %w", err)
		}
		epoch = strings.TrimSpace(out)
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

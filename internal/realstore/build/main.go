// Command build builds the real stores that the tests of the lease backends run, unless
// they are there already, and prints their folder.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/yacron2/yacron2/internal/realstore/cache"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	dir, err := build(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the stores:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

func build(ctx context.Context) (string, error) {
	c, err := cache.Open(ctx, ".")
	if err != nil {
		return "", err
	}
	return c.Dir(), c.Build(ctx, os.Stderr)
}

package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "`DIR` of the source tree")
	out := flag.String("out", "site", "`DIR` for the website; it is emptied first")
	flag.Parse()
	if err := run(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func run(root, out string) error {
	s, err := build(root)
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	return s.write(out)
}

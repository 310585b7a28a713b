// Command confdoc writes the reference of the configuration's keys, from the schema of
// the loader and the texts of this package. Run it with go generate.
package main

import (
	"fmt"
	"os"
)

//go:generate go run . ../../website/reference.md

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: confdoc FILE")
		os.Exit(2)
	}
	text, err := page()
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(text), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "confdoc:", err)
		os.Exit(1)
	}
}

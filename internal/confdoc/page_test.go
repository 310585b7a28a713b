package main

import (
	"os"
	"testing"
)

// TestPageIsFresh: the page in the documentation is what the schema and the texts give.
func TestPageIsFresh(t *testing.T) {
	want, err := page()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../website/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("website/reference.md is stale: run go generate ./internal/confdoc")
	}
}

package simcluster

import "os"

// mutated reports whether this run is to break the rule.
func mutated(rule string) bool { return os.Getenv("YACRON2_MUTANT") == rule }

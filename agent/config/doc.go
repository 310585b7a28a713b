// Package config turns configuration files into the jobs and settings of one agent.
//
// Three front ends (YAML, HCL, crontab) read a file into one neutral tree of
// mappings, lists and scalars, each with its position; a scalar keeps its text. One
// schema checks that tree, defaults and includes are merged on it, and only then is
// it turned into typed values. So every rule exists once, whatever the spelling of
// the file, and every problem has a file, a line and a column.
//
// Load never stops at the first problem: it returns all problems of all files, and a
// Config only if none of them is an error. It starts no goroutine and keeps no state
// but in what its caller gives it for that.
package config

// Package run executes one command: its process group, output, time limits and exit.
package run

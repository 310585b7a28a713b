package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

// limit is something that the machine alone takes its time for. What a benchmark takes
// beyond the limits that it meets is the program's own doing.
type limit struct {
	name    string
	times   int // how often it is measured; the median counts
	measure func(times int) ([]time.Duration, error)
}

func limits() []limit {
	return []limit{
		{"start and await a process", 100, processes},
		{"append 4 kB and sync", 50, syncs},
		{"exchange of 1 byte over loopback", 1000, exchanges},
		{"wake up from a timer", 100, timers},
	}
}

// addLimits puts the machine's limits before the benchmarks.
func (t *table) addLimits(all []limit) error {
	var rows []*row
	for _, l := range all {
		times, err := l.measure(l.times)
		if err != nil {
			return fmt.Errorf("%s: %w", l.name, err)
		}
		slices.Sort(times)
		rows = append(rows, &row{
			pkg: "machine", name: l.name,
			values: map[string][]float64{"ns/op": {float64(times[len(times)/2].Nanoseconds())}},
		})
	}
	if !slices.Contains(t.units, "ns/op") {
		t.units = append([]string{"ns/op"}, t.units...)
	}
	t.rows = append(rows, t.rows...)
	return nil
}

// each measures one thing several times.
func each(times int, do func() error) ([]time.Duration, error) {
	took := make([]time.Duration, times)
	for i := range took {
		start := time.Now()
		if err := do(); err != nil {
			return nil, err
		}
		took[i] = time.Since(start)
	}
	return took, nil
}

func processes(times int) ([]time.Duration, error) {
	path, err := exec.LookPath("true")
	if err != nil {
		return nil, err
	}
	return each(times, func() error { return exec.Command(path).Run() })
}

func syncs(times int) (took []time.Duration, err error) {
	f, err := os.CreateTemp("", "benchtable-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	page := make([]byte, 4096)
	return each(times, func() error {
		if _, err := f.Write(page); err != nil {
			return err
		}
		return f.Sync()
	})
}

func exchanges(times int) (took []time.Duration, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	echoed := make(chan error, 1)
	go func() { // ends with the connection, and is awaited below
		c, err := l.Accept()
		if err == nil {
			_, err = io.Copy(c, c)
			err = errors.Join(err, c.Close())
		}
		echoed <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	b := []byte{1}
	took, err = each(times, func() error {
		if _, err := c.Write(b); err != nil {
			return err
		}
		_, err := io.ReadFull(c, b)
		return err
	})
	return took, errors.Join(err, c.Close(), <-echoed)
}

// timers measures how much later than asked for a timer fires.
func timers(times int) ([]time.Duration, error) {
	const asked = 2 * time.Millisecond
	took, err := each(times, func() error { <-time.After(asked); return nil })
	for i := range took {
		took[i] -= asked
	}
	return took, err
}

// describe says when and on what the table was made.
func describe(now time.Time, cpuinfo io.Reader) string {
	model := ""
	for lines := bufio.NewScanner(cpuinfo); lines.Scan(); {
		if key, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(key) == "model name" {
			model = ", " + strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %s/%s, %d processors%s, %s", now.UTC().Format(time.DateOnly), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), model, runtime.Version())
}

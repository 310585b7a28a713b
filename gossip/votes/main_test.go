package votes

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/yacron2/yacron2/election"
)

// The environment of this test binary when it runs as another process.
const (
	envRole = "YACRON2_VOTES_ROLE" // a key of roles
	envPath = "YACRON2_VOTES_PATH"
	envSeed = "YACRON2_VOTES_SEED"
)

// roles are what another process does with the file, until it is killed.
var roles = map[string]func(path string, seed uint64) error{
	"hold":  holdFile,
	"write": writeBatches,
	"fill":  fillDisk,
	"tmpfs": fillTmpfs,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(envRole)]
	if !ok {
		goleak.VerifyTestMain(m)
		return
	}
	seed, err := strconv.ParseUint(os.Getenv(envSeed), 10, 64)
	if err == nil {
		err = role(os.Getenv(envPath), seed)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// holdFile keeps the file open until it is killed or told to go on.
func holdFile(path string, _ uint64) error {
	s, err := Open(Config{Path: path, NodeName: node})
	if err != nil {
		return err
	}
	fmt.Println("open")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return s.Close()
}

// writeBatches appends batches of random sizes, and prunes some, for ever. A line is
// written before each step and another one after it.
func writeBatches(path string, seed uint64) error {
	s, err := Open(Config{Path: path, NodeName: node})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var kept []election.Vote
	for batch := 0; ; batch++ {
		votes := batchOf(seed, batch, 1+random.IntN(200))
		fmt.Printf("append %d %d\n", batch, len(votes))
		if err := s.Append(votes); err != nil {
			return err
		}
		fmt.Println("done")
		if kept = append(kept, votes...); random.IntN(4) > 0 {
			continue
		}
		n := random.IntN(len(kept) + 1)
		p := election.Pruning{Votes: kept[:n], LowWater: lowWater(batch)}
		fmt.Printf("prune %d %d\n", batch, n)
		if err := s.Prune(p); err != nil {
			return err
		}
		fmt.Println("done")
		kept = kept[n:]
	}
}

// batchOf returns the votes of one batch: all of them are for its own instance.
func batchOf(seed uint64, batch, n int) []election.Vote {
	votes := make([]election.Vote, n)
	for i := range votes {
		votes[i] = election.Vote{
			Firing:     election.Firing{Job: fmt.Sprintf("job-%04d", i), At: instant(int(seed)*100_000 + batch)},
			InstanceID: fmt.Sprintf("%016x%016x", seed, batch),
		}
	}
	return votes
}

// instant returns an instant in a future that no mark of a fence ever covers.
func instant(n int) time.Time {
	return time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second)
}

// lowWater is a mark that depends on the batch and covers none.
func lowWater(batch int) time.Time { return instant(batch).AddDate(-10, 0, 0) }

package election

import (
	"crypto/sha256"
	"encoding/binary"
)

// rendezvous returns the node with the highest score for job, "" for no nodes. When a
// node goes, only its own jobs move.
func rendezvous(job string, nodes []string) string {
	var (
		winner string
		high   uint64
		buf    [256]byte // most names fit: no allocation
	)
	key := append(append(buf[:0], job...), 0)
	for i, node := range nodes {
		score := score(append(key, node...))
		if i == 0 || score > high || score == high && node > winner {
			winner, high = node, score
		}
	}
	return winner
}

// score is the first eight bytes of the SHA-256 of job, a zero byte and node, read as
// a big-endian number.
func score(jobAndNode []byte) uint64 {
	sum := sha256.Sum256(jobAndNode)
	return binary.BigEndian.Uint64(sum[:8])
}

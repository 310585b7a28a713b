package gossip

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The protocol versions that this build speaks.
const (
	protocolMin = 1
	protocolMax = 1
)

// maxHello bounds the hello of a peer in bytes.
const maxHello = 4096

// hello is what both ends say first: the protocol versions they speak, both ends
// included, and who they are. A newer build may say more; it is ignored.
type hello struct {
	ProtocolMin int    `json:"protocol_min"`
	ProtocolMax int    `json:"protocol_max"`
	Instance    string `json:"instance_id"`
}

// writeHello sends h as a 16-bit big-endian length and its JSON.
func writeHello(w io.Writer, h hello) error {
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint16(make([]byte, 0, 2+len(body)), uint16(len(body))) //nolint:gosec // two numbers and an id: far below maxHello
	_, err = w.Write(append(frame, body...))
	return err
}

// readHello reads the hello of the other end and nothing beyond it.
func readHello(r io.Reader) (hello, error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return hello{}, err
	}
	n := binary.BigEndian.Uint16(size[:])
	if n == 0 || n > maxHello {
		return hello{}, fmt.Errorf("hello of %d bytes: at most %d are allowed", n, maxHello)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		return hello{}, err
	}
	return parseHello(body)
}

// parseHello decodes and checks the body of a hello.
func parseHello(body []byte) (hello, error) {
	var h hello
	if err := json.Unmarshal(body, &h); err != nil {
		return hello{}, fmt.Errorf("hello: %w", err)
	}
	if !validInstance(h.Instance) {
		return hello{}, errors.New("hello: no valid instance id")
	}
	if h.ProtocolMin < 1 || h.ProtocolMax < h.ProtocolMin {
		return hello{}, fmt.Errorf("hello: protocol versions %d to %d make no sense", h.ProtocolMin, h.ProtocolMax)
	}
	return h, nil
}

// negotiate returns the highest protocol version that both ends speak.
func negotiate(ours, theirs hello) (int, error) {
	version := min(ours.ProtocolMax, theirs.ProtocolMax)
	if version < max(ours.ProtocolMin, theirs.ProtocolMin) {
		return 0, fmt.Errorf("no common protocol version: %d to %d here, %d to %d there",
			ours.ProtocolMin, ours.ProtocolMax, theirs.ProtocolMin, theirs.ProtocolMax)
	}
	return version, nil
}

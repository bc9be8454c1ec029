package cluster

import (
	"encoding/binary"
	"errors"
	"fmt"

	"weir/overlay"
)

// A message in a log is a bundle: batches for several of the partitions that share
// the log. All of them have the message's sequence number as their offset, so there
// is at most one for each partition. Packed (pack.go) it is
//
//	count                   varint
//	count times             partition, length of its batch: varints
//	the batches             one behind the other
//
// so that whoever follows one partition finds its batch without reading the others.
const (
	fullBundle = 1 << 20              // bytes: with so many a bundle goes as it is
	maxSlice   = overlay.MaxBatch / 2 // bytes of a batch
	maxSlices  = 1 << 12              // batches of a bundle
)

// slice is the batch of one partition in a bundle.
type slice struct {
	part int
	data []byte // a piece of the bundle
}

var errBundle = errors.New("it is not a bundle")

// appendBundle writes a bundle behind b.
func appendBundle(b []byte, list []slice) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = binary.AppendUvarint(b, uint64(s.part))
		b = binary.AppendUvarint(b, uint64(len(s.data)))
	}
	for _, s := range list {
		b = append(b, s.data...)
	}
	return b
}

// readBundle finds the batches of a bundle. It takes any bytes.
func readBundle(b []byte) ([]slice, error) {
	var bad bool
	next := func(limit int) int {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(limit) {
			bad = true
			return 0
		}
		b = b[size:]
		return int(n)
	}
	count := next(min(len(b)/2, maxSlices))
	list := make([]slice, 0, count)
	sizes := make([]int, 0, count)
	for range count {
		list = append(list, slice{part: next(overlay.MaxParts)})
		sizes = append(sizes, next(len(b)))
		if bad {
			break
		}
	}
	for i := range list {
		if bad || sizes[i] > len(b) {
			return nil, errBundle
		}
		list[i].data, b = b[:sizes[i]:sizes[i]], b[sizes[i]:]
	}
	if bad || len(b) > 0 {
		return nil, errBundle
	}
	return list, nil
}

// unbundle unpacks a message of a log.
func unbundle(message []byte) ([]slice, error) {
	raw, err := unpack(message)
	if err != nil {
		return nil, err
	}
	list, err := readBundle(raw)
	if err != nil {
		return nil, fmt.Errorf("read %d bytes: %w", len(raw), err)
	}
	return list, nil
}

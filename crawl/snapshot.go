package crawl

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A snapshot is the memory of seen pages as a file: written when a crawl ends,
// it spares the next run the reading of all rows. It is worth something only as
// long as nothing was committed after it. So it has a stamp that stands in the
// store too, and the first group that is written after it takes that away.
//
//	"weirsee1" | stamp (8 bytes) | blocks
//	block: count (4 bytes) | CRC-32C (4 bytes) | count x (fingerprint 8, depth 1)
//
// A block of no pages is the last.

// snapshotLeast is how many pages make a snapshot worth its writing.
const snapshotLeast = 1 << 16

const (
	snapshotMagic = "weirsee1"
	snapshotBlock = 8192
	printBytes    = 9
)

var (
	stampKey   = []byte("mstamp")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// errSnapshot says that a snapshot is not that of this state, or is damaged.
var errSnapshot = errors.New("not a snapshot of this state")

// Snapshot writes the memory of seen pages, if it is whole and large enough to
// be worth it; it says whether it was. The stamp must be new every time. It may
// be trusted once WriteStamp is durable.
func (l *Ledger) Snapshot(w io.Writer, stamp uint64) (bool, error) {
	if !l.seen.whole() || l.seen.pages < snapshotLeast {
		return false, nil
	}
	out := bufio.NewWriterSize(w, 1<<18)
	out.WriteString(snapshotMagic)
	out.Write(binary.BigEndian.AppendUint64(nil, stamp))
	block := make([]byte, 0, snapshotBlock*printBytes)
	flush := func() {
		head := binary.BigEndian.AppendUint32(nil, uint32(len(block)/printBytes))
		out.Write(binary.BigEndian.AppendUint32(head, crc32.Checksum(block, castagnoli)))
		out.Write(block)
		block = block[:0]
	}
	l.seen.each(func(shard uint64, b *bucket) {
		for k := range b.n {
			print := (uint64(b.high[k])<<32|uint64(b.low[k]))<<shardBits | shard
			block = append(binary.BigEndian.AppendUint64(block, print), b.depth[k])
			if len(block) == cap(block) {
				flush()
			}
		}
	})
	if len(block) > 0 {
		flush()
	}
	flush()
	if err := out.Flush(); err != nil {
		return false, fmt.Errorf("write the known pages: %w", err)
	}
	return true, nil
}

// WriteStamp makes the snapshot with this stamp the one of the state.
func WriteStamp(w Writer, stamp uint64) {
	w.Set(stampKey, binary.BigEndian.AppendUint64(nil, stamp))
}

// Stamp returns the stamp of the state's snapshot, if it had one when the Ledger
// was opened.
func (l *Ledger) Stamp() (stamp uint64, ok bool) { return l.stamp, l.stamped }

func readStamp(kv KV) (stamp uint64, ok bool, err error) {
	b, ok, err := kv.Get(stampKey)
	if err == nil && ok && len(b) != 8 {
		err = errRow
	}
	if err != nil {
		return 0, false, fmt.Errorf("read the snapshot's stamp: %w", err)
	}
	if !ok {
		return 0, false, nil
	}
	return binary.BigEndian.Uint64(b), true, nil
}

// ReadSnapshot is ReadPrints from a snapshot with this stamp. After an error the
// pages that fn had are good, and others are missing: read the rows instead.
func ReadSnapshot(r io.Reader, stamp uint64, fn func([]Print) bool) error {
	in := bufio.NewReaderSize(r, 1<<18)
	head := make([]byte, len(snapshotMagic)+8)
	if _, err := io.ReadFull(in, head); err != nil {
		return fmt.Errorf("read the known pages: %w", err)
	}
	if string(head[:len(snapshotMagic)]) != snapshotMagic || binary.BigEndian.Uint64(head[len(snapshotMagic):]) != stamp {
		return errSnapshot
	}
	block := make([]byte, snapshotBlock*printBytes)
	for {
		if _, err := io.ReadFull(in, head[:8]); err != nil {
			return fmt.Errorf("read the known pages: %w", err)
		}
		n := binary.BigEndian.Uint32(head)
		if n > snapshotBlock {
			return errSnapshot
		}
		block = block[:n*printBytes]
		if _, err := io.ReadFull(in, block); err != nil {
			return fmt.Errorf("read the known pages: %w", err)
		}
		if crc32.Checksum(block, castagnoli) != binary.BigEndian.Uint32(head[4:]) {
			return errSnapshot
		}
		if n == 0 {
			return nil
		}
		prints := make([]Print, n)
		for i := range prints {
			p := block[i*printBytes:]
			prints[i] = Print{binary.BigEndian.Uint64(p), p[8]}
		}
		if !fn(prints) {
			return nil
		}
	}
}

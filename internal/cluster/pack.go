package cluster

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"weir/overlay"
)

// A batch goes out as one byte that says how it is packed, and the batch.
const (
	packedRaw  = 0
	packedZstd = 1
	worthwhile = 256 // below this zstd costs more than it saves
)

var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(2), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(overlay.MaxBatch), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err)
		}
		return d
	})
)

var errPacking = errors.New("packed in a way that this version does not know")

func pack(dst, raw []byte) []byte {
	if len(raw) >= worthwhile {
		dst = encoder().EncodeAll(raw, append(dst, packedZstd))
		if len(dst) <= len(raw) {
			return dst
		}
		dst = dst[:0]
	}
	return append(append(dst, packedRaw), raw...)
}

func unpack(b []byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, errPacking
	}
	switch b[0] {
	case packedRaw:
		return b[1:], nil
	case packedZstd:
		raw, err := decoder().DecodeAll(b[1:], nil)
		if err != nil {
			return nil, fmt.Errorf("unpack a batch: %w", err)
		}
		return raw, nil
	}
	return nil, errPacking
}

func tooLong(part, n int) error {
	return fmt.Errorf("a batch of %d bytes for partition %d is not appended: the limit is %d", n, part, maxSlice)
}

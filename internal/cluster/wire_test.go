package cluster

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"weir/overlay"
)

func TestBatchesArePackedWhereThatSaves(t *testing.T) {
	for _, raw := range [][]byte{nil, []byte("short"), bytes.Repeat([]byte("https://example.org/"), 500), []byte(strings.Repeat("x", worthwhile))} {
		b := pack(nil, raw)
		if len(b) > len(raw)+1 {
			t.Errorf("%d bytes became %d", len(raw), len(b))
		}
		got, err := unpack(b)
		if err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%d bytes came back as %d: %v", len(raw), len(got), err)
		}
	}
	if _, err := unpack([]byte{9, 1, 2}); !errors.Is(err, errPacking) {
		t.Errorf("an unknown packing gave %v", err)
	}
	if _, err := unpack(nil); !errors.Is(err, errPacking) {
		t.Errorf("nothing gave %v", err)
	}
}

// A few bytes from another node do not become many here.
func TestUnpackingIsBounded(t *testing.T) {
	bomb := pack(nil, make([]byte, overlay.MaxBatch+1))
	if _, err := unpack(bomb); err == nil {
		t.Errorf("%d bytes became more than a batch may have", len(bomb))
	}
}

func FuzzUnpack(f *testing.F) {
	b := overlay.Batch{Origin: 1, Records: []overlay.Record{overlay.Mark{ID: 1, Node: "a"}}}
	f.Add(pack(nil, overlay.AppendBatch(nil, &b)))
	f.Add(pack(nil, bytes.Repeat([]byte("a"), 1000)))
	f.Add([]byte{1, 0x28, 0xb5, 0x2f, 0xfd})
	f.Fuzz(func(t *testing.T, b []byte) {
		raw, err := unpack(b)
		if err != nil {
			return
		}
		if again, err := unpack(pack(nil, raw)); err != nil || !bytes.Equal(again, raw) {
			t.Fatalf("%q became %q: %v", raw, again, err)
		}
	})
}

func FuzzReadFrame(f *testing.F) {
	var b bytes.Buffer
	if err := writeFrame(&b, &request{Hello: hello{place: place{Name: "a"}}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{'})
	f.Add([]byte{0, 0, 0, 2, '{', '}'})
	f.Fuzz(func(t *testing.T, b []byte) {
		var r request
		if err := readFrame(bytes.NewReader(b), maxHello, &r); err == nil && len(b) < 6 {
			t.Fatalf("%q was read", b)
		}
	})
}

package page

import (
	"strings"
	"testing"
)

// TestHashVectors checks the reference vectors that the authors of SipHash
// publish: the key is the bytes 0 to 15, the i-th text the bytes 0 to i-1.
func TestHashVectors(t *testing.T) {
	var key Secret
	var text [16]byte
	for i := range key {
		key[i], text[i] = byte(i), byte(i)
	}
	for i, want := range []uint64{
		0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d,
		0xcf2794e0277187b7, 0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137,
		0x93f5f5799a932462, 0x9e0082df0ba9e4b0, 0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7,
		0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee, 0xa129ca6149be45e5,
	} {
		if got := key.Hash(string(text[:i])); got != want {
			t.Errorf("%d bytes: %016x, want %016x", i, got, want)
		}
	}
}

func TestHashKeyed(t *testing.T) {
	a, b := Secret{1}, Secret{15: 1}
	if a.Hash("/") == b.Hash("/") {
		t.Error("two secrets hash alike")
	}
	seen := map[uint64]int{}
	for n := range 300 {
		h := a.Hash(strings.Repeat("\x00", n))
		if m, ok := seen[h]; ok {
			t.Errorf("%d and %d zeros hash alike", m, n)
		}
		seen[h] = n
	}
	if n := testing.AllocsPerRun(100, func() { a.Hash("/path/to/a/page.html") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHash(b *testing.B) {
	key := Secret{1, 2, 3}
	s := "/path/to/a/page.html?id=12345&lang=en"
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		key.Hash(s)
	}
}

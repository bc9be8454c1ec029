package pack

import (
	"bytes"
	"compress/flate"
	stdgzip "compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	kflate "github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"pgregory.net/rapid"
)

func inflatePage(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/inflate/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// squeezed is data as a writer packs it.
func squeezed(t testing.TB, data []byte, open func(io.Writer) (io.WriteCloser, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func inflateGzip(t testing.TB, level int, data []byte) []byte {
	return squeezed(t, data, func(w io.Writer) (io.WriteCloser, error) { return stdgzip.NewWriterLevel(w, level) })
}

func inflateZlib(t testing.TB, data []byte) []byte {
	return squeezed(t, data, func(w io.Writer) (io.WriteCloser, error) { return zlib.NewWriter(w), nil })
}

func inflateRaw(t testing.TB, level int, data []byte) []byte {
	return squeezed(t, data, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, level) })
}

// bitString is a stream written bit by bit.
type bitString struct {
	b []byte
	n uint
}

// num appends a number, its lowest bit first, as RFC 1951 does with all but
// codes.
func (s *bitString) num(v, n uint) *bitString {
	for i := range n {
		if s.n%8 == 0 {
			s.b = append(s.b, 0)
		}
		s.b[len(s.b)-1] |= byte(v>>i&1) << (s.n % 8)
		s.n++
	}
	return s
}

// code appends a code, its highest bit first.
func (s *bitString) code(v, n uint) *bitString {
	return s.num(uint(bits.Reverse64(uint64(v))>>(64-n)), n)
}

// head begins a last block that brings its own codes, whose lengths it writes
// with a plain code of four bits for each.
func (s *bitString) head(lits, dists []uint8) *bitString {
	s.num(1, 1).num(2, 2).num(uint(len(lits)-257), 5).num(uint(len(dists)-1), 5).num(preSyms-4, 4)
	for _, sym := range preOrder {
		if sym < 16 {
			s.num(4, 3)
		} else {
			s.num(0, 3)
		}
	}
	for _, n := range append(append([]uint8{}, lits...), dists...) {
		s.code(uint(n), 4)
	}
	return s
}

func lensOf(n int, set map[int]uint8) []uint8 {
	lens := make([]uint8, n)
	for i, l := range set {
		lens[i] = l
	}
	return lens
}

func TestInflateByHand(t *testing.T) {
	for _, tt := range []struct {
		name string
		src  []byte
		want string
		err  error
	}{
		{"stored", []byte("\x01\x05\x00\xfa\xffhello"), "hello", nil},
		{"stored twice", []byte("\x00\x02\x00\xfd\xffhe\x01\x03\x00\xfc\xffllo"), "hello", nil},
		{"stored, empty", []byte("\x01\x00\x00\xff\xff"), "", nil},
		{"stored, its length wrong", []byte("\x01\x05\x00\xfb\xffhello"), "", errDeflate},
		{"stored, cut in its length", []byte("\x01\x05\x00\xfa"), "", io.ErrUnexpectedEOF},
		{"stored, cut", []byte("\x01\x05\x00\xfa\xffhel"), "hel", io.ErrUnexpectedEOF},
		{"what follows does not matter", []byte("\x01\x02\x00\xfd\xffhello"), "he", nil},
		{"nothing", nil, "", io.ErrUnexpectedEOF},
		{"the block type that is none", []byte{7}, "", errDeflate},
		{"fixed, empty", new(bitString).num(3, 3).code(0, 7).b, "", nil},
		{"fixed", new(bitString).num(3, 3).code(0x30+'a', 8).code(0x190+0xff-144, 9).code(0, 7).b, "a\xff", nil},
		{
			"fixed, a run", // length 10 is code 264 of no extra bits, distance 1 is code 0
			new(bitString).num(3, 3).code(0x30+'a', 8).code(264-256, 7).code(0, 5).code(0, 7).b, strings.Repeat("a", 11), nil,
		},
		{
			"fixed, extra bits", // length 3 once, then 11+1, distance 5+1
			new(bitString).num(3, 3).code(0x30+'a', 8).code(0x30+'b', 8).code(0x30+'c', 8).code(257-256, 7).code(2, 5).
				code(265-256, 7).num(1, 1).code(4, 5).num(1, 1).code(0, 7).b, "abcabcabcabcabcabc", nil,
		},
		{
			"fixed, the longest", // 258 is code 285, in the second part of the code
			new(bitString).num(3, 3).code(0x30+'a', 8).code(0xc0+285-280, 8).code(0, 5).code(0, 7).b, strings.Repeat("a", 259), nil,
		},
		{"fixed, a length that is none", new(bitString).num(3, 3).code(0x30+'a', 8).code(0xc0+286-280, 8).code(0, 5).code(0, 7).b, "a", errDeflate},
		{"fixed, a distance that is none", new(bitString).num(3, 3).code(0x30+'a', 8).code(1, 7).code(30, 5).code(0, 7).b, "a", errDeflate},
		{"a distance before the start", new(bitString).num(3, 3).code(0x30+'a', 8).code(1, 7).code(1, 5).code(0, 7).b, "a", errDeflate},
		{"a distance when there is nothing", new(bitString).num(3, 3).code(1, 7).code(0, 5).code(0, 7).b, "", errDeflate},
		{
			"own codes", // a: 0, b: 10, end: 110, length 4: 111; one distance of one bit: 2
			new(bitString).head(lensOf(259, map[int]uint8{'a': 1, 'b': 2, 256: 3, 258: 3}), lensOf(2, map[int]uint8{1: 1})).
				code(0, 1).code(2, 2).code(7, 3).code(0, 1).code(6, 3).b, "ababab", nil,
		},
		{
			"own codes, the other bit of a lone code",
			new(bitString).head(lensOf(259, map[int]uint8{'a': 1, 'b': 2, 256: 3, 258: 3}), lensOf(2, map[int]uint8{1: 1})).
				code(0, 1).code(2, 2).code(7, 3).code(1, 1).code(6, 3).b, "ab", errDeflate,
		},
		{
			"own codes, no distances",
			new(bitString).head(lensOf(257, map[int]uint8{'a': 1, 256: 1}), lensOf(1, nil)).
				code(0, 1).code(0, 1).code(1, 1).b, "aa", nil,
		},
		{
			"own codes, no distances but a match",
			new(bitString).head(lensOf(259, map[int]uint8{'a': 1, 256: 2, 258: 2}), lensOf(1, nil)).
				code(0, 1).code(3, 2).code(0, 1).code(2, 2).b, "a", errDeflate,
		},
		{"own codes, nothing but the end", new(bitString).head(lensOf(257, map[int]uint8{256: 1}), lensOf(1, nil)).code(0, 1).b, "", nil},
		{"own codes, none at all", new(bitString).head(lensOf(257, nil), lensOf(1, nil)).num(0, 32).b, "", errDeflate},
		{"own codes, too many", new(bitString).head(lensOf(257, map[int]uint8{'a': 1, 'b': 1, 256: 1}), lensOf(1, nil)).num(0, 32).b, "", errDeflate},
		{"own codes, too few", new(bitString).head(lensOf(257, map[int]uint8{'a': 2, 'b': 2, 256: 2}), lensOf(1, nil)).num(0, 32).b, "", errDeflate},
		{"own codes, one of two bits", new(bitString).head(lensOf(257, map[int]uint8{256: 2}), lensOf(1, nil)).num(0, 32).b, "", errDeflate},
		{"own codes, a lone distance of two bits", new(bitString).head(lensOf(257, map[int]uint8{'a': 1, 256: 1}), lensOf(1, map[int]uint8{0: 2})).num(3, 32).b, "", errDeflate},
		{"287 lengths", new(bitString).head(make([]uint8, 287), lensOf(1, nil)).b, "", errDeflate},
		{"31 distances", new(bitString).head(lensOf(257, map[int]uint8{'a': 1, 256: 1}), lensOf(31, nil)).num(1, 32).b, "", errDeflate},
		{"a repetition of nothing", new(bitString).num(5, 3).num(0, 10).num(0, 4).num(1, 3).num(1, 3).num(0, 6).num(0, 64).b, "", errDeflate},
		{"too many repetitions", new(bitString).num(5, 3).num(0, 10).num(0, 4).num(0, 6).num(1, 3).num(0, 3).num(127<<1, 8).num(127<<1, 8).b, "", errDeflate},
		{"the other bit of a lone code for lengths", new(bitString).num(5, 3).num(0, 10).num(0, 4).num(0, 6).num(1, 3).num(0, 3).num(1, 8).b, "", errDeflate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var z Inflater
			got, err := z.Deflate([]byte("before"), tt.src, 1000)
			if string(got) != "before"+tt.want || !errors.Is(err, tt.err) {
				t.Errorf("%.60q, %v", got, err)
			}
			sameAsFlate(t, &z, tt.src)
			sameAsFlate(t, &z, append(tt.src, make([]byte, 100)...)) // far from the end
		})
	}
}

// sameAsFlate fails unless the standard library finds the same in a stream. In
// one that is not whole the library may see a little less, as it reads ahead.
func sameAsFlate(t interface {
	Helper()
	Fatalf(string, ...any)
}, z *Inflater, src []byte) {
	t.Helper()
	const most = 1 << 20
	got, err := z.Deflate(nil, src, most)
	want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(src)), most+1))
	sameAs(t, got, err, want, wantErr, most)
}

func sameAs(t interface {
	Helper()
	Fatalf(string, ...any)
}, got []byte, err error, want []byte, wantErr error, most int) {
	t.Helper()
	switch {
	case len(got) > most:
		t.Fatalf("%d bytes of at most %d", len(got), most)
	case len(want) > most:
		if err != ErrTooLong || !bytes.HasPrefix(want, got) {
			t.Fatalf("%d bytes, %v, of a stream that is too long", len(got), err)
		}
	case wantErr == nil:
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
		}
	case err == nil || !bytes.HasPrefix(got, want):
		t.Fatalf("%d bytes, %v; want %d, %v", len(got), err, len(want), wantErr)
	}
}

// inflateInputs are as different as streams get: nothing, what cannot be
// packed, what can be packed best, long and short distances, many blocks.
func inflateInputs(t testing.TB) map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	skewed := make([]byte, 50_000) // codes of all lengths
	for i := range skewed {
		skewed[i] = byte(min(r.ExpFloat64()*8, 255))
	}
	in := map[string][]byte{
		"nothing": {}, "byte": {'x'}, "noise": noise, "skewed": skewed,
		"zeros": make([]byte, 100_000),
		"far":   append(append(append([]byte{}, noise[:32768]...), noise[:300]...), noise[:32768]...),
		"prose": inflateProse(200_000),
		"page":  inflatePage(t),
	}
	for _, period := range []int{2, 3, 5, 7, 8, 9, 15, 16, 17} {
		in[fmt.Sprint("period ", period)] = bytes.Repeat(noise[:period], 3000/period)
	}
	return in
}

func TestInflateEqualsWriters(t *testing.T) {
	var z Inflater
	for name, data := range inflateInputs(t) {
		check := func(what string, src []byte, read func(dst, src []byte, most int) ([]byte, error)) {
			t.Helper()
			for _, dst := range [][]byte{nil, make([]byte, 0, len(data)), make([]byte, 3, 2*len(data)+1000)} {
				got, err := read(dst, src, len(data))
				if err != nil || !bytes.Equal(got, append(dst, data...)) {
					t.Errorf("%s, %s, into %d of %d: %d bytes, %v", name, what, len(dst), cap(dst), len(got), err)
				}
			}
		}
		for level := flate.HuffmanOnly; level <= 9; level++ {
			check(fmt.Sprint("std ", level), inflateRaw(t, level, data), z.Deflate)
		}
		for level := kflate.HuffmanOnly; level <= 9; level++ {
			src := squeezed(t, data, func(w io.Writer) (io.WriteCloser, error) { return kflate.NewWriter(w, level) })
			check(fmt.Sprint("klauspost ", level), src, z.Deflate)
		}
		check("gzip", inflateGzip(t, 6, data), z.Gunzip)
		check("zlib", inflateZlib(t, data), z.Zlib)
	}
}

// TestInflateCut: whatever a connection lost, what came is read.
func TestInflateCut(t *testing.T) {
	page := inflatePage(t)[:6000]
	var z Inflater
	for name, tt := range map[string]struct {
		src  []byte
		read func(dst, src []byte, most int) ([]byte, error)
	}{
		"stored":  {inflateRaw(t, 0, page), z.Deflate},
		"fixed":   {inflateRaw(t, 9, page[:60]), z.Deflate},
		"dynamic": {inflateRaw(t, 9, page), z.Deflate},
		"zlib":    {inflateZlib(t, page), z.Zlib},
		"gzip":    {inflateGzip(t, 6, page), z.Gunzip},
	} {
		t.Run(name, func(t *testing.T) {
			last := 0
			for cut := range tt.src {
				got, err := tt.read(nil, tt.src[:cut:cut], math.MaxInt)
				if err != io.ErrUnexpectedEOF || !bytes.HasPrefix(page, got) || len(got) < last {
					t.Fatalf("%d of %d bytes: %d bytes, %v", cut, len(tt.src), len(got), err)
				}
				last = len(got)
			}
			if last < 50 {
				t.Errorf("%d bytes before the last", last)
			}
		})
	}
}

func TestInflateMost(t *testing.T) {
	page := inflatePage(t)[:3000]
	var z Inflater
	for _, level := range []int{0, 1, 9, flate.HuffmanOnly} {
		src := inflateGzip(t, level, page)
		roomy := make([]byte, 0, 8000)
		for most := range len(page) + 2 {
			for _, dst := range [][]byte{nil, roomy} {
				got, err := z.Gunzip(dst, src, most)
				if len(got) > most || !bytes.HasPrefix(page, got) {
					t.Fatalf("level %d, most %d: %d bytes", level, most, len(got))
				}
				if most >= len(page) != (err == nil) || err != nil && err != ErrTooLong {
					t.Fatalf("level %d, most %d: %v", level, most, err)
				}
			}
		}
	}
	if got, err := z.Gunzip([]byte("x"), inflateGzip(t, 6, page), -1); string(got) != "x" || err != ErrTooLong {
		t.Error(len(got), err)
	}
}

// TestGunzipPromise: a size in a trailer that is a lie costs little.
func TestGunzipPromise(t *testing.T) {
	src := inflateGzip(t, 6, []byte("hello"))
	copy(src[len(src)-4:], "\xff\xff\xff\xff")
	var z Inflater
	got, err := z.Gunzip(nil, src, math.MaxInt)
	if string(got) != "hello" || err != errInflatedSum || cap(got) > 32*len(src) {
		t.Errorf("%q in %d, %v", got, cap(got), err)
	}
}

func TestGunzipHeaders(t *testing.T) {
	body := inflateRaw(t, 6, []byte("hello"))
	tail := inflateGzip(t, 6, []byte("hello"))
	tail = tail[len(tail)-8:]
	member := func(flags byte, fields string) string {
		return "\x1f\x8b\x08" + string(flags) + "\x00\x00\x00\x00\x00\xff" + fields + string(body) + string(tail)
	}
	summed := func(flags byte, fields string) string {
		sum := crc32.ChecksumIEEE([]byte("\x1f\x8b\x08" + string(flags) + "\x00\x00\x00\x00\x00\xff" + fields))
		return member(flags, fields+string([]byte{byte(sum), byte(sum >> 8)}))
	}
	plain := member(0, "")
	far := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + // reaches into the member before it
		string(new(bitString).num(3, 3).code(1, 7).code(4, 5).num(0, 1).code(0, 7).b) + "\x00\x00\x00\x00\x03\x00\x00\x00"
	var z Inflater
	for _, tt := range []struct {
		name, src, want string
		err             error
	}{
		{"plain", plain, "hello", nil},
		{"text", member(1, ""), "hello", nil},
		{"extra", member(4, "\x03\x00abc"), "hello", nil},
		{"extra, empty", member(4, "\x00\x00"), "hello", nil},
		{"extra, too long", member(4, "\xff\xff"), "", io.ErrUnexpectedEOF},
		{"extra, too long before a name", member(4|8, "\xff\xff"), "", io.ErrUnexpectedEOF},
		{"extra, cut", member(4, "")[:11], "", io.ErrUnexpectedEOF},
		{"name", member(8, "index.html\x00"), "hello", nil},
		{"comment", member(16, "no comment\x00"), "hello", nil},
		{"name of 511", member(8, strings.Repeat("n", 511)+"\x00"), "hello", nil},
		{"name of 512", member(8, strings.Repeat("n", 512)+"\x00"), "", errGzipHead},
		{"sum", summed(2, ""), "hello", nil},
		{"sum, cut", summed(2, "")[:11], "", io.ErrUnexpectedEOF},
		{"sum, wrong", member(2, "\x00\x00"), "", errGzipHead},
		{"everything", summed(31, "\x02\x00abname\x00comment\x00"), "hello", nil},
		{"reserved", member(32, ""), "", errGzipHead},
		{"another method", "\x1f\x8b\x07" + plain[3:], "", errGzipHead},
		{"no gzip", "<!doctype html>", "", errGzipHead},
		{"cut in the header", plain[:9], "", io.ErrUnexpectedEOF},
		{"cut in the name", member(8, "index.html\x00")[:14], "", io.ErrUnexpectedEOF},
		{"nothing", "", "", io.ErrUnexpectedEOF},
		{"members", plain + summed(31, "\x02\x00abname\x00comment\x00") + plain, "hellohellohello", nil},
		{"junk after it", plain + "some junk after", "hello", errGzipHead},
		{"little junk after it", plain + "junk", "hello", io.ErrUnexpectedEOF},
		{"zeros after it", plain + strings.Repeat("\x00", 512), "hello", errGzipHead},
		{"a sum that is wrong", plain[:len(plain)-8] + "sum!" + plain[len(plain)-4:], "hello", errInflatedSum},
		{"a size that is wrong", plain[:len(plain)-4] + "size", "hello", errInflatedSum},
		{"no room for the sum", plain[:len(plain)-1], "hello", io.ErrUnexpectedEOF},
		{"a member that reads another", plain + far, "hello", errDeflate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := z.Gunzip(nil, []byte(tt.src), 1000)
			if string(got) != tt.want || err != tt.err {
				t.Errorf("%q, %v", got, err)
			}
			var want []byte
			r, wantErr := gzip.NewReader(strings.NewReader(tt.src))
			if wantErr == nil {
				want, wantErr = io.ReadAll(r)
			}
			sameAs(t, got, err, want, wantErr, 1000)
		})
	}
}

func TestZlibHeaders(t *testing.T) {
	src := string(inflateZlib(t, []byte("hello")))
	var z Inflater
	for _, tt := range []struct {
		name, src, want string
		err             error
	}{
		{"plain", src, "hello", nil},
		{"junk after it", src + "junk", "hello", nil},
		{"a window of 64 KB", "\x88\x1c" + src[2:], "", errZlibHead},
		{"another method", "\x77\x01" + src[2:], "", errZlibHead},
		{"no check", "\x78\x9d" + src[2:], "", errZlibHead},
		{"a dictionary", "\x78\xbbdict" + src[2:], "", errZlibHead},
		{"no dictionary", "\x78\xbb\x00\x00\x00\x01" + src[2:], "hello", nil},
		{"cut in the dictionary", "\x78\xbb\x00\x00", "", io.ErrUnexpectedEOF},
		{"a sum that is wrong", src[:len(src)-4] + "sum!", "hello", errInflatedSum},
		{"cut in the sum", src[:len(src)-1], "hello", io.ErrUnexpectedEOF},
		{"cut in the header", src[:1], "", io.ErrUnexpectedEOF},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := z.Zlib(nil, []byte(tt.src), 1000)
			if string(got) != tt.want || err != tt.err {
				t.Errorf("%q, %v", got, err)
			}
			var want []byte
			r, wantErr := zlib.NewReader(strings.NewReader(tt.src))
			if wantErr == nil {
				want, wantErr = io.ReadAll(r)
			}
			sameAs(t, got, err, want, wantErr, 1000)
		})
	}
}

// completeLens are the lengths of a complete code of at most n symbols, long
// ones among them. The last symbol has one.
func completeLens(r *rand.Rand, n int) []uint8 {
	leaves := []uint8{0}
	for range 1 + r.IntN(n-1) {
		i := len(leaves) - 1 // often the same, so that long codes come about
		if r.IntN(3) > 0 {
			i = r.IntN(len(leaves))
		}
		if leaves[i] < maxInflateCode {
			leaves[i]++
			leaves = append(leaves, leaves[i])
		}
	}
	lens := make([]uint8, n)
	copy(lens, leaves)
	r.Shuffle(n, func(i, j int) { lens[i], lens[j] = lens[j], lens[i] })
	if last := slices.IndexFunc(lens, func(l uint8) bool { return l > 0 }); lens[n-1] == 0 {
		lens[n-1], lens[last] = lens[last], 0
	}
	return lens
}

// TestInflateCodes reads noise with all kinds of codes, some of which are none.
func TestInflateCodes(t *testing.T) {
	var z Inflater
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		lits := completeLens(r, rapid.IntRange(257, 287).Draw(t, "lits"))
		dists := completeLens(r, rapid.IntRange(2, 31).Draw(t, "dists"))
		if rapid.IntRange(0, 3).Draw(t, "spoil") == 0 {
			lits[r.IntN(len(lits))] = uint8(r.IntN(16))
			dists[r.IntN(len(dists))] = uint8(r.IntN(16))
		}
		var s bitString
		s.num(0, 3).num(0, 5) // something to point at
		text := inflateProse(500)
		s.num(uint(len(text)), 16).num(^uint(len(text)), 16)
		for _, c := range text {
			s.num(uint(c), 8)
		}
		s.head(lits, dists)
		for range rapid.IntRange(0, 2000).Draw(t, "noise") {
			s.num(uint(r.Uint32()), 8)
		}
		sameAsFlate(t, &z, s.b)
	})
}

// TestInflateBroken changes streams a little.
func TestInflateBroken(t *testing.T) {
	page := inflatePage(t)
	var z Inflater
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(0, len(page)).Draw(t, "size")
		level := rapid.IntRange(flate.HuffmanOnly, 9).Draw(t, "level")
		var b bytes.Buffer
		w, _ := flate.NewWriter(&b, level)
		w.Write(page[:size])
		w.Close()
		src := b.Bytes()
		for range rapid.IntRange(0, 3).Draw(t, "flips") {
			src[rapid.IntRange(0, len(src)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		sameAsFlate(t, &z, src[:rapid.IntRange(0, len(src)).Draw(t, "cut")])
	})
}

// TestInflateTables fills the tables of codes that need the most room.
func TestInflateTables(t *testing.T) {
	var z Inflater
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		if lens := completeLens(r, maxLitSyms); !fillTable(z.codes.lit[:], litBits, lens, litSyms[:]) {
			t.Fatal(lens)
		}
		if lens := completeLens(r, maxDistSyms); !fillTable(z.codes.dist[:], distBits, lens, distSyms[:]) {
			t.Fatal(lens)
		}
	}
}

func TestInflateAllocatesNothing(t *testing.T) {
	var z Inflater
	out := make([]byte, 0, 64<<10)
	page := inflatePage(t)
	gz, zl, fixed := inflateGzip(t, 6, page), inflateZlib(t, page), inflateRaw(t, 6, page[:20])
	if n := testing.AllocsPerRun(50, func() {
		z.Gunzip(out, gz, 1<<20)
		z.Zlib(out, zl, 1<<20)
		z.Deflate(out, fixed, 1<<20)
		z.Gunzip(out, gz[:len(gz)/2], 1<<20)
		z.Gunzip(out, gz, 1000)
	}); n != 0 {
		t.Error(n)
	}
}

func FuzzInflate(f *testing.F) {
	page := inflatePage(f)[:2000]
	for _, level := range []int{0, 1, 6, flate.HuffmanOnly} {
		f.Add(inflateRaw(f, level, page))
		f.Add(inflateGzip(f, level, page))
	}
	f.Add(inflateZlib(f, page))
	f.Add(append(inflateGzip(f, 6, page), inflateGzip(f, 6, page[:20])...))
	var s bitString
	s.head(completeLens(rand.New(rand.NewPCG(1, 1)), 286), completeLens(rand.New(rand.NewPCG(2, 2)), 30)).num(12345678, 64)
	f.Add(s.b)
	var z Inflater
	f.Fuzz(func(t *testing.T, src []byte) {
		sameAsFlate(t, &z, src)

		const most = 1 << 16
		got, err := z.Zlib(nil, src, most)
		var want []byte
		zr, wantErr := zlib.NewReader(bytes.NewReader(src))
		if wantErr == nil {
			want, wantErr = io.ReadAll(io.LimitReader(zr, most+1))
		}
		sameAs(t, got, err, want, wantErr, most)

		got, err = z.Gunzip(nil, src, most)
		want = nil
		gr, wantErr := stdgzip.NewReader(bytes.NewReader(src))
		if wantErr == nil {
			want, wantErr = io.ReadAll(io.LimitReader(gr, most+1))
		}
		if err == errGzipHead { // of reserved flags, which the library takes
			want, wantErr = want[:min(len(want), len(got))], err
		}
		sameAs(t, got, err, want, wantErr, most)
	})
}

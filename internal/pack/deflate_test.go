package pack

import (
	"bytes"
	stdflate "compress/flate"
	stdgzip "compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/flate"
	"pgregory.net/rapid"
)

// deflateProse makes up a page: a list of links, then paragraphs of sentences
// of words that are the rarer the longer they are.
func deflateProse(seed uint64, size int) []byte {
	const onset, vowel, coda = "bcdfghjklmnprstvwz", "aeiou", "nrstlm"
	r := rand.New(rand.NewPCG(seed, 1))
	words := make([]string, 2048)
	language := rand.New(rand.NewPCG(7, 7))
	for i := range words {
		var b []byte
		for range 1 + i/512 {
			b = append(b, onset[language.IntN(len(onset))], vowel[language.IntN(len(vowel))])
		}
		if language.IntN(2) == 0 {
			b = append(b, coda[language.IntN(len(coda))])
		}
		words[i] = string(b)
	}
	word := func() string {
		u := r.Float64()
		return words[int(u*u*u*float64(len(words)))]
	}
	b := []byte("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>page</title></head><body>\n<ul>\n")
	for range 30 {
		b = fmt.Appendf(b, "<li><a href=\"/p/%d\">%s %s</a></li>\n", r.IntN(5000), word(), word())
	}
	b = append(b, "</ul>\n"...)
	for len(b) < size {
		b = append(b, "<p>"...)
		for range 4 + r.IntN(8) {
			b = append(b, word()...)
			for range 6 + r.IntN(14) {
				b = append(append(b, ' '), word()...)
			}
			b = append(b, ". "...)
		}
		b = append(b, "</p>\n"...)
	}
	return b[:size]
}

func deflateNoise(seed byte, size int) []byte {
	b := make([]byte, size)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// deflateT is what tests, fuzz targets and properties have in common.
type deflateT interface {
	Helper()
	Fatalf(string, ...any)
}

// deflateCheck has two decoders read what becomes of src, and returns it.
func deflateCheck(t deflateT, d *Deflater, src []byte) []byte {
	t.Helper()
	const before = "before"
	out := d.deflate([]byte(before), src, nil)
	if string(out[:len(before)]) != before {
		t.Fatalf("what stood in dst now reads %q", out[:len(before)])
	}
	out = out[len(before):]
	for name, r := range map[string]io.Reader{
		"compress/flate": stdflate.NewReader(bytes.NewReader(out)),
		"klauspost":      flate.NewReader(bytes.NewReader(out)),
	} {
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%s reads %d bytes as %d, %v", name, len(src), len(got), err)
		}
	}
	if most := len(src) + 5*(len(src)/deflatePiece+1); len(out) > most {
		t.Fatalf("%d bytes became %d, %d more than stored", len(src), len(out), len(out)-most)
	}
	return out
}

// deflateFibonacci is text of symbols whose frequencies are Fibonacci numbers, and
// whose Huffman tree is as deep as there are symbols.
func deflateFibonacci() []byte {
	var b []byte
	for i, f := 0, [2]int{1, 1}; len(b)+f[0] < deflatePiece; i++ {
		b = append(b, bytes.Repeat([]byte{byte('a' + i)}, f[0])...)
		f[0], f[1] = f[1], f[0]+f[1]
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(b), func(i, j int) { b[i], b[j] = b[j], b[i] })
	return b
}

func TestDeflate(t *testing.T) {
	page, err := os.ReadFile("testdata/inflate/page.html")
	if err != nil {
		t.Fatal(err)
	}
	long := deflateProse(1, 1<<20)
	noise := deflateNoise(1, 300<<10)
	var d Deflater
	for _, c := range []struct {
		name string
		src  []byte
		most int // bytes of the stream
	}{
		{"nothing", nil, 2},
		{"a byte", []byte("x"), 3},
		{"seven bytes", []byte("xxxxxxx"), 9},
		{"one byte over and over", make([]byte, 1<<20), 2000},
		{"two bytes over and over", bytes.Repeat([]byte("ab"), 40000), 400},
		{"noise", noise, len(noise) + 5*5},
		{"noise in short", noise[:1000], 1005},
		{"noise twice within the window", slices.Concat(noise[:30000], noise[:30000]), 40000},
		{"noise twice, beyond the window", slices.Concat(noise[:33000], noise[:33000]), 66010},
		{"noise twice, beyond a table's reach", slices.Concat(noise[:70000], noise[:70000]), 140015},
		{"text, then noise", slices.Concat(long[:70000], noise), 40000 + len(noise)},
		{"noise, then text", slices.Concat(noise, long[:70000]), 40000 + len(noise)},
		{"text", long, 480000},
		{"real page", page, len(page) / 3},
		{"deep tree", deflateFibonacci(), 24000},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := deflateCheck(t, &d, c.src)
			if len(out) > c.most {
				t.Errorf("%d bytes became %d, want %d at most", len(c.src), len(out), c.most)
			}
			// A worker's pages must not depend on those before.
			if fresh := new(Deflater).deflate(nil, c.src, nil); !bytes.Equal(fresh, out) {
				t.Error("a fresh Deflater writes something else")
			}
		})
	}
}

// TestDeflateSizes ends pieces and matches at every distance from where the
// matcher stops looking.
func TestDeflateSizes(t *testing.T) {
	var d Deflater
	text, zero := deflateProse(2, 70<<10), make([]byte, 70<<10)
	for _, src := range [][]byte{text, zero, deflateNoise(3, 70<<10)} {
		for n := range 600 {
			deflateCheck(t, &d, src[:n])
		}
		for n := 1000; n < len(src); n += 997 {
			deflateCheck(t, &d, src[:n])
		}
		for n := deflatePiece - 20; n < deflatePiece+40; n++ {
			deflateCheck(t, &d, src[:n])
		}
	}
}

func TestDeflateProperty(t *testing.T) {
	var d Deflater
	rapid.Check(t, func(t *rapid.T) {
		// Noise of few or many symbols, and copies of what was there.
		var src []byte
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		symbols := rapid.IntRange(1, 256).Draw(t, "symbols")
		for range rapid.IntRange(0, 60).Draw(t, "parts") {
			if n := rapid.IntRange(0, 2000).Draw(t, "length"); len(src) > 0 && rapid.Bool().Draw(t, "copy") {
				at := r.IntN(len(src))
				for i := range n {
					src = append(src, src[at+i])
				}
			} else {
				for range n {
					src = append(src, byte(r.IntN(symbols)))
				}
			}
		}
		deflateCheck(t, &d, src)
	})
}

func FuzzDeflate(f *testing.F) {
	f.Add([]byte(""), uint16(1))
	f.Add([]byte("WARC/1.1\r\nWARC-Type: request\r\nWARC-Type: response\r\n\r\n"), uint16(40))
	f.Add(deflateProse(1, 3000), uint16(1))
	f.Add(deflateNoise(1, 100), uint16(700))
	for _, n := range []int{3, 4, 7, 8, 10, 11, 66, 131, 257, 258, 259, 261, 516} {
		f.Add(append(bytes.Repeat([]byte("\xff\x90ab"), n), deflateProse(0, n)...), uint16(3))
	}
	var d Deflater
	f.Fuzz(func(t *testing.T, src []byte, times uint16) {
		if len(src)*int(times) < 200<<10 {
			src = bytes.Repeat(src, int(times))
		}
		deflateCheck(t, &d, src)
	})
}

func TestGzip(t *testing.T) {
	noise, text := deflateNoise(1, 200<<10), deflateProse(1, 200<<10)
	var d Deflater
	for _, n := range []int{0, 1, 300, 20 << 10, len(text)} {
		for _, stored := range [][][]byte{nil, {nil}, {noise[:1]}, {noise[:3000], []byte("\r\n\r\n")}, {nil, noise, nil}, {noise[:deflatePiece], noise[:deflatePiece+1]}} {
			src := text[:n]
			want := slices.Concat(append([][]byte{src}, stored...)...)
			out := d.Gzip([]byte("before"), src, stored...)[len("before"):]
			r, err := stdgzip.NewReader(bytes.NewReader(append(out, "after"...)))
			if err != nil {
				t.Fatal(err)
			}
			r.Multistream(false)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes and %d pieces read back as %d of %d bytes, %v", n, len(stored), len(got), len(want), err)
			}
		}
	}
}

func TestDeflateAllocatesNothing(t *testing.T) {
	var d Deflater
	pages := [][]byte{deflateProse(1, 20<<10), deflateNoise(1, 20<<10), deflateProse(1, 300), deflateProse(1, 200<<10)}
	out := make([]byte, 0, 256<<10)
	for _, p := range pages {
		d.Gzip(out, p, p)
	}
	if n := testing.AllocsPerRun(20, func() {
		for _, p := range pages {
			d.Gzip(out, p)
			d.Gzip(out, p[:100], p[:1000])
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// deflateKraft is the room that codes take up, in codes of 15 bits.
func deflateKraft(lens []uint8) (sum int) {
	for _, n := range lens {
		if n > 0 {
			sum += 1 << (15 - n)
		}
	}
	return sum
}

// deflateBest is the sum of weight times length of a Huffman code, made as
// textbooks do, and the longest length.
func deflateBest(freq []uint32) (sum, depth int) {
	type node struct{ weight, depth int }
	var nodes []node
	for _, k := range freq {
		if k > 0 {
			nodes = append(nodes, node{int(k), 0})
		}
	}
	for len(nodes) > 1 {
		slices.SortFunc(nodes, func(a, b node) int { return a.weight - b.weight })
		n := node{nodes[0].weight + nodes[1].weight, 1 + max(nodes[0].depth, nodes[1].depth)}
		sum += n.weight
		nodes = append(nodes[2:], n)
	}
	return sum, nodes[0].depth
}

// TestDeflateLengths checks that codes are complete, and the best unless they
// had to be shortened.
func TestDeflateLengths(t *testing.T) {
	var tree deflateTree
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{2, 3, 19, 30, 286}).Draw(t, "symbols")
		limit := deflateMax
		if n == 19 {
			limit = deflateMetaMax
		}
		freq := make([]uint32, n)
		left := uint32(deflatePiece)
		steep := rapid.Float64Range(0, 1).Draw(t, "steep")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for _, i := range r.Perm(n)[:rapid.IntRange(0, n).Draw(t, "used")] {
			k := 1 + uint32(float64(left)*steep*r.Float64())
			if k > left {
				break
			}
			freq[i] = k
			left -= k
		}
		lens := make([]uint8, n)
		tree.lengths(lens, freq, limit)
		sum, used := 0, 0
		for i, l := range lens {
			if int(l) > limit || l == 0 && freq[i] > 0 {
				t.Fatalf("symbol %d, %d times, has length %d", i, freq[i], l)
			}
			if freq[i] > 0 {
				used++
			}
			sum += int(l) * int(freq[i])
		}
		if k := deflateKraft(lens); k != 1<<15 {
			t.Fatalf("Kraft sum %d/%d of %v", k, 1<<15, lens)
		}
		if used < 2 {
			return
		}
		best, depth := deflateBest(freq)
		if sum < best || sum > best && depth <= limit {
			t.Fatalf("%d bits, the best code has %d, depth %d", sum, best, depth)
		}
		if sum > best+best/20 && n != 19 {
			t.Fatalf("limiting costs too much: %d bits instead of %d", sum, best)
		}
	})
	// The deepest trees of all.
	for n := 3; n <= 22; n++ {
		freq, a, b := make([]uint32, n), uint32(1), uint32(1)
		for i := range freq {
			freq[i] = a
			a, b = b, a+b
		}
		lens := make([]uint8, n)
		tree.lengths(lens, freq, deflateMax)
		if k := deflateKraft(lens); k != 1<<15 || int(slices.Max(lens)) != min(n-1, deflateMax) {
			t.Errorf("%d Fibonacci numbers: lengths %v, Kraft sum %d/%d", n, lens, k, 1<<15)
		}
	}
}

// TestDeflateDistances makes blocks with no distance, one and two: their
// descriptions are what old decoders stumble over.
func TestDeflateDistances(t *testing.T) {
	var d Deflater
	none := deflateNoise(5, 2000)
	for i := range none {
		none[i] &= 63 // so that codes pay
	}
	for _, c := range []struct {
		src  []byte
		want int
	}{
		{none, 0},
		{make([]byte, 3000), 1},
		{slices.Concat(make([]byte, 3000), none[:500], none[:500]), 2},
	} {
		if out := deflateCheck(t, &d, c.src); out[0]>>1&3 != deflateDynamic {
			t.Errorf("%d distances: a block of kind %d", c.want, out[0]>>1&3)
		}
		used := 0
		for _, k := range d.freq[deflateBack:deflateSymbols] {
			if k > 0 {
				used++
			}
		}
		if used != c.want {
			t.Errorf("%d distances, want %d", used, c.want)
		}
		if k := deflateKraft(d.tree.lens[deflateBack:]); k != 1<<15 {
			t.Errorf("%d distances: Kraft sum %d/%d", used, k, 1<<15)
		}
	}
}

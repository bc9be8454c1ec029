package pack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

type zstdT interface {
	Helper()
	Fatalf(string, ...any)
}

// zstdPages are pages of a site: what is around their text is the same.
func zstdPages(n, size int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		var b strings.Builder
		fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<!doctype html><html><head><title>Page %d</title>"+
			"<link rel=stylesheet href=/style.css></head><body><nav><a href=/>Home</a> <a href=/about>About us</a></nav><h1>Page %d</h1>\n<p>", i, i)
		for b.Len() < size {
			switch rng.IntN(40) {
			case 0:
				fmt.Fprintf(&b, "</p>\n<p><a href=\"/p/%d\">", rng.IntN(900))
			case 1:
				b.WriteString("</a>, ")
			default:
				for range 1 + rng.IntN(4) {
					b.WriteByte("bcdfghlmnprstvw"[min(rng.IntN(15), rng.IntN(15))])
					b.WriteByte("aeiou"[min(rng.IntN(5), rng.IntN(5))])
				}
				b.WriteByte(' ')
			}
		}
		b.WriteString("</p><footer>All rights reserved by those who wrote it.</footer></body></html>\r\n\r\n")
		out[i] = []byte(b.String())
	}
	return out
}

// zstdKit is a dictionary, as it is written and read, and decoders that know it.
type zstdKit struct {
	body []byte
	dict *Dictionary
	dec  *zstd.Decoder
}

var zstdOwn = sync.OnceValue(func() *zstdKit {
	pages := zstdPages(30, 9000)
	body, err := MakeDictionary(40000, bytes.Join(pages[:8], nil), pages[8:])
	if err != nil {
		panic(err)
	}
	return newZstdKit(body)
})

// zstdOther is a dictionary of another maker.
var zstdOther = sync.OnceValue(func() *zstdKit {
	pages := zstdPages(30, 9000)
	body, err := zstd.BuildDict(zstd.BuildDictOptions{
		ID: 50000, Contents: pages[8:], History: bytes.Join(pages[:8], nil), Offsets: [3]int{1, 4, 8}, Level: zstd.SpeedFastest,
	})
	if err != nil {
		panic(err)
	}
	return newZstdKit(body)
})

func newZstdKit(body []byte) *zstdKit {
	d, err := ReadDictionary(body)
	if err != nil {
		panic(err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderDicts(body), zstd.WithDecoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return &zstdKit{body, d, dec}
}

// zstdCheck packs src with a dictionary, another one, and none, has the library
// read it back, and returns the length of each.
func zstdCheck(t zstdT, z *Zstd, src []byte) (n [3]int) {
	t.Helper()
	own, other := zstdOwn(), zstdOther()
	for i, c := range []struct {
		dict *Dictionary
		dec  *zstd.Decoder
	}{{own.dict, own.dec}, {other.dict, other.dec}, {nil, own.dec}} {
		out := z.Frame([]byte("before"), src, c.dict)
		frame, ok := bytes.CutPrefix(out, []byte("before"))
		if !ok {
			t.Fatalf("what was there before is gone")
		}
		got, err := c.dec.DecodeAll(frame, nil)
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("dictionary %d: %d bytes read back as %d: %v", i, len(src), len(got), err)
		}
		var h zstd.Header
		if err := h.Decode(frame); err != nil || !h.HasCheckSum || !h.HasFCS || h.FrameContentSize != uint64(len(src)) {
			t.Fatalf("header %+v, %v", h, err)
		}
		if c.dict != nil && h.DictionaryID != c.dict.id {
			t.Fatalf("dictionary %d", h.DictionaryID)
		}
		if again := z.Frame(nil, src, c.dict); !bytes.Equal(again, frame) {
			t.Fatalf("dictionary %d: packed another way the second time", i)
		}
		if len(frame) > len(src)+3*(len(src)/blockMax+1)+17 {
			t.Fatalf("%d bytes became %d", len(src), len(frame))
		}
		n[i] = len(frame)
	}
	return n
}

func zstdNoise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

func TestZstd(t *testing.T) {
	noise := zstdNoise(1 << 20)
	page := bytes.Join(zstdPages(60, 20000), nil)
	deep := zstdOwn().dict.content
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	// Bytes as frequent as Fibonacci numbers have the longest codes.
	var skew []byte
	for a, b, c := 1, 1, byte('A'); c < 'A'+22; a, b, c = b, a+b, c+1 {
		skew = append(skew, bytes.Repeat([]byte{c}, a)...)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(skew), func(i, j int) { skew[i], skew[j] = skew[j], skew[i] })
	// Few kinds of bytes never seen before.
	var greek strings.Builder
	for i := range 4000 {
		greek.WriteRune('α' + rune(noise[i]%24))
	}
	for name, src := range map[string][]byte{
		"empty":                       nil,
		"one byte":                    []byte("x"),
		"few":                         []byte("hello"),
		"one byte often":              bytes.Repeat([]byte("a"), 70000),
		"one byte, blocks of it":      bytes.Repeat([]byte("a"), 1<<20),
		"noise":                       noise,
		"noise of one block":          noise[:blockMax],
		"noise and a byte":            noise[:blockMax+1],
		"all bytes":                   all,
		"skew":                        skew[:min(len(skew), 1<<20)],
		"bytes without code":          []byte(greek.String()),
		"the dictionary":              deep,
		"its start":                   deep[:60],
		"its end":                     deep[len(deep)-60:],
		"its end, and on":             append(bytes.Clone(deep[len(deep)-60:]), "and on and on and on and on"...),
		"noise, the dictionary":       append(bytes.Clone(noise[:900_000]), deep...),
		"its start behind everything": append(bytes.Clone(noise[:1<<20-len(deep)]), deep...),
		"long match far back":         append(bytes.Clone(noise[:500_000]), noise[:500_000]...),
		"noise, page, noise":          append(append(bytes.Clone(noise[:blockMax]), page[:blockMax]...), noise[blockMax:3*blockMax]...),
		"page, noise, page":           append(append(bytes.Clone(page[:blockMax]), noise[blockMax:3*blockMax]...), page[:3*blockMax]...),
		"pages":                       page[:1<<20],
	} {
		t.Run(name, func(t *testing.T) {
			var z Zstd
			zstdCheck(t, &z, src)
		})
	}
}

// TestZstdStored has frames whose end is not compressed.
func TestZstdStored(t *testing.T) {
	var z Zstd
	kit := zstdOwn()
	noise, page := zstdNoise(1<<19), zstdPages(1, 20000)[0]
	for _, head := range [][]byte{nil, page[:300], page, bytes.Repeat(page, 10)} {
		for _, stored := range [][][]byte{{nil}, {[]byte("x")}, {noise[:3000], []byte("\r\n\r\n")}, {nil, page, nil}, {noise[:blockMax]}, {noise}} {
			want := append(bytes.Clone(head), bytes.Join(stored, nil)...)
			for _, d := range []*Dictionary{nil, kit.dict} {
				frame := z.Frame(nil, head, d, stored...)
				if got, err := kit.dec.DecodeAll(frame, nil); err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes read back as %d: %v", len(want), len(got), err)
				}
			}
		}
	}
}

// TestZstdSizes has one encoder pack all sizes.
func TestZstdSizes(t *testing.T) {
	var z Zstd
	page := bytes.Join(zstdPages(60, 20000), nil)
	for n := range 700 {
		zstdCheck(t, &z, page[:n])
	}
	for _, n := range []int{1000, 1023, 1024, 1025, 16383, 16384, 16385, 65791, 65792, blockMax - 1, blockMax, blockMax + 1, blockMax + 9, 2*blockMax + 100, 1<<20 - 1, 1 << 20} {
		zstdCheck(t, &z, page[:n])
		zstdCheck(t, &z, page[len(page)-n:])
	}
	defer func() {
		if recover() == nil {
			t.Error("a frame that is too long was made")
		}
	}()
	z.Frame(nil, make([]byte, ZstdMax+1), nil)
}

// TestZstdLengths has runs of literals and matches of all lengths whose codes
// differ, and offsets of all widths.
func TestZstdLengths(t *testing.T) {
	noise := zstdNoise(1 << 20)
	var lengths []int
	for n := 1; n <= 1<<17; n *= 2 {
		for d := -4; d <= 4; d++ {
			if n+d > 0 && n+d <= 1<<17 {
				lengths = append(lengths, n+d)
			}
		}
	}
	for n := range 150 {
		lengths = append(lengths, n)
	}
	var z Zstd
	for _, n := range lengths {
		// Literals, a match; a match of n bytes; a match n bytes back.
		src := append(bytes.Clone(noise[:n]), noise[:min(n, 300)]...)
		src = append(src, noise[:n]...)
		zstdCheck(t, &z, src)
		zstdCheck(t, &z, append(bytes.Repeat([]byte("0"), n), noise[:20]...))
	}
}

// TestZstdRepeats has offsets that were used before, with and without literals
// between (section 3.1.1.5).
func TestZstdRepeats(t *testing.T) {
	noise := zstdNoise(4096)
	rng := rand.New(rand.NewPCG(3, 4))
	var z Zstd
	used := [5]int{}
	for range 300 {
		src := bytes.Clone(noise[:256])
		for range 60 {
			off := []int{60, 61, 90, 200}[rng.IntN(4)]
			n := 8 + rng.IntN(12)
			src = append(src, src[len(src)-off:][:n]...)
			src = append(src, noise[rng.IntN(4000):][:rng.IntN(3)]...)
		}
		zstdCheck(t, &z, src)
		z.Frame(nil, src, nil)
		for _, q := range z.seqs {
			switch {
			case q.off == 0:
				used[0]++
			case q.off == 1 && q.extra>>(q.width-1)&1 == 0:
				used[1]++
			case q.off == 1:
				used[2]++
			}
			if q.lit == 0 && q.off < 2 {
				used[3]++
			}
		}
	}
	for i, n := range used[:4] {
		if n == 0 {
			t.Errorf("case %d did not come up: %v", i, used)
		}
	}
}

// TestZstdWideSequences has sequences with as many extra bits as there are: far
// offsets, long matches and long runs of literals together, so that the bits
// held back fill up to every number.
func TestZstdWideSequences(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 200_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	var z Zstd
	widest := uint8(0)
	for range 60 {
		var src []byte
		for len(src) < 120_000 {
			i := rng.IntN(len(noise) / 2)
			src = append(src, noise[i:i+1+rng.IntN(20_000)>>rng.IntN(15)]...)
			if far := len(src) - 1 - rng.IntN(len(src)); len(src) > 1 {
				src = append(src, src[far:min(len(src), far+8+rng.IntN(20_000)>>rng.IntN(12))]...)
			}
		}
		zstdCheck(t, &z, src)
		for _, q := range z.seqs {
			widest = max(widest, uint8(q.width))
		}
	}
	if widest < 36 {
		t.Errorf("no sequence has more than %d extra bits", widest)
	}
}

// zstdText draws bytes that have much in common with themselves and the
// dictionary.
func zstdText(t *rapid.T) []byte {
	deep := zstdOwn().dict.content
	noise := zstdNoise(5000)
	var src []byte
	for range rapid.IntRange(0, 60).Draw(t, "pieces") {
		n := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 5000)).Draw(t, "n")
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			i := rapid.IntRange(0, 4999).Draw(t, "noise")
			src = append(src, noise[i:min(i+n, 5000)]...)
		case 1:
			i := rapid.IntRange(0, len(deep)-1).Draw(t, "dictionary")
			src = append(src, deep[i:min(i+n, len(deep))]...)
		case 2:
			if len(src) > 0 {
				i := rapid.IntRange(0, len(src)-1).Draw(t, "itself")
				for j := range n {
					src = append(src, src[i+j])
				}
			}
		case 3:
			src = append(src, bytes.Repeat([]byte{byte(n)}, n)...)
		case 4:
			src = append(src, rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "bytes")...)
		}
	}
	return src
}

func TestZstdProperty(t *testing.T) {
	var z Zstd
	rapid.Check(t, func(t *rapid.T) { zstdCheck(t, &z, zstdText(t)) })
}

func FuzzZstd(f *testing.F) {
	f.Add([]byte(""), byte(0))
	f.Add([]byte("hello hello hello"), byte(1))
	f.Add(zstdPages(1, 3000)[0], byte(3))
	f.Add(zstdNoise(2000), byte(200))
	f.Fuzz(func(t *testing.T, src []byte, times byte) {
		var z Zstd
		// Many inputs are too short to be interesting.
		src = bytes.Repeat(src, 1+int(times))
		zstdCheck(t, &z, src[:min(len(src), 1<<16)])
	})
}

// FuzzDictionary reads what strangers call a dictionary and, if it is one, packs
// with it what the library, if it takes it too, must be able to read.
func FuzzDictionary(f *testing.F) {
	f.Add(zstdOwn().body[:4000], []byte("hello hello hello"))
	f.Add(zstdOther().body[:4000], []byte("<!doctype html><html><head><title>Page"))
	f.Add([]byte("\x37\xa4\x30\xec"), []byte(""))
	var z Zstd
	f.Fuzz(func(t *testing.T, body, src []byte) {
		d, err := ReadDictionary(bytes.Clone(body))
		if err != nil {
			return
		}
		frame := z.Frame(nil, src[:min(len(src), ZstdMax)], d)
		dec, err := zstd.NewReader(nil, zstd.WithDecoderDicts(body), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return
		}
		defer dec.Close()
		if got, err := dec.DecodeAll(frame, nil); err != nil || !bytes.Equal(got, src) {
			t.Fatalf("%d bytes read back as %d: %v", len(src), len(got), err)
		}
	})
}

func TestReadDictionary(t *testing.T) {
	good := zstdOwn().body
	tables := len(good) - len(zstdOwn().dict.content)
	for n := range tables + 8 {
		if _, err := ReadDictionary(good[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are a dictionary", n, len(good))
		}
	}
	for name, change := range map[string]func(b []byte){
		"magic":  func(b []byte) { b[0]++ },
		"no ID":  func(b []byte) { clear(b[4:8]) },
		"offset": func(b []byte) { binary.LittleEndian.PutUint32(b[tables-4:], 1<<31) },
		"none":   func(b []byte) { clear(b[tables-12:][:4]) },
	} {
		b := bytes.Clone(good)
		change(b)
		if _, err := ReadDictionary(b); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for name, pages := range map[string][][]byte{"no pages": nil, "short pages": {[]byte("a"), []byte("bb")}} {
		b, err := MakeDictionary(1<<16, []byte("some content"), pages)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := zstd.InspectDictionary(b); err != nil {
			t.Errorf("%s: the library: %v", name, err)
		}
		if _, err := ReadDictionary(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := MakeDictionary(1, []byte("short"), nil); err == nil {
		t.Error("a dictionary of nothing")
	}
}

// TestZstdPays says what a dictionary is for: pages of a site take less than the
// library's fastest makes of them, and one of them writes no tables.
func TestZstdPays(t *testing.T) {
	kit := zstdOwn()
	lib, err := zstd.NewWriter(nil, zstd.WithEncoderDict(kit.body), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer lib.Close()
	var z Zstd
	got, none, want, again := 0, 0, 0, 0
	pages := zstdPages(60, 9000)[30:]
	for _, p := range pages {
		n := zstdCheck(t, &z, p)
		got, none = got+n[0], none+n[2]
		want += len(lib.EncodeAll(p, nil))
		z.Frame(nil, p, kit.dict)
		if z.lit == &kit.dict.lit && z.prev[seqLit] == &kit.dict.seq[seqLit] && z.prev[seqMatch] == &kit.dict.seq[seqMatch] && z.prev[seqOffset] == &kit.dict.seq[seqOffset] {
			again++
		}
	}
	if got > want*103/100 || got > none*95/100 {
		t.Errorf("%d bytes, the library %d, without dictionary %d", got, want, none)
	}
	if again < len(pages)/2 {
		t.Errorf("%d of %d pages have no table of their own", again, len(pages))
	}
	t.Logf("%d bytes, the library %d, without dictionary %d", got, want, none)
}

func TestZstdAllocatesNothing(t *testing.T) {
	var z Zstd
	var out []byte
	page := zstdPages(1, 20000)[0]
	noise := zstdNoise(20000)
	for _, d := range []*Dictionary{nil, zstdOwn().dict} {
		pack := func() {
			out = z.Frame(out[:0], page, d)
			out = z.Frame(out[:0], noise, d)
		}
		pack()
		if n := testing.AllocsPerRun(20, pack); n > 0 {
			t.Errorf("%v allocations a page", n)
		}
	}
}

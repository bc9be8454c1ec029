package fetch

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"weir/page"
)

func squeeze(t testing.TB, coding string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zlib":
		w = zlib.NewWriter(&b)
	case "deflate":
		w, _ = flate.NewWriter(&b, 6)
	case "br":
		w = brotli.NewWriterLevel(&b, 5)
	case "zstd":
		w, _ = zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// encoded answers with a body under a Content-Encoding.
func encoded(coding string, body []byte, chunked bool) func(*scene) {
	head := ok + "Content-Encoding: " + coding + "\r\n"
	if chunked {
		return says(fmt.Sprintf("%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(body), body))
	}
	return says(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body))
}

func TestDecoded(t *testing.T) {
	text := []byte(strings.Repeat("<p>All work and no play. ", 400))
	gz := squeeze(t, "gzip", text)
	tests := []struct {
		name, coding string
		body         []byte
		want         string
		outcome      page.Outcome
	}{
		{"none", "identity", text, string(text), page.OK},
		{"gzip", "gzip", gz, string(text), page.OK},
		{"x-gzip", "X-GZip", gz, string(text), page.OK},
		{"deflate as the standard means it", "deflate", squeeze(t, "zlib", text), string(text), page.OK},
		{"deflate as some servers do", "deflate", squeeze(t, "deflate", text), string(text), page.OK},
		{"br", "br", squeeze(t, "br", text), string(text), page.OK},
		{"zstd", "zstd", squeeze(t, "zstd", text), string(text), page.OK},
		{"two layers", "gzip, br", squeeze(t, "br", gz), string(text), page.OK},
		{"size-05 gzip of gzip", "gzip, gzip", squeeze(t, "gzip", gz), string(text), page.OK},
		{"size-05 three layers", "gzip, gzip, br", squeeze(t, "br", squeeze(t, "gzip", gz)), "", page.Bomb},
		{"size-07 a lie, gzip", "gzip", text, string(text), page.OK},
		{"size-07 a lie, deflate", "deflate", text, string(text), page.OK},
		{"size-07 a lie, br", "br", text, string(text), page.OK},
		{"size-07 a lie, zstd", "zstd", text, string(text), page.OK},
		{"a lie in the second layer", "br, gzip", gz, string(gz), page.OK},
		{"unknown", "utf-8", text, string(text), page.OK},
		{"empty", "gzip", nil, "", page.OK},
		{"broken off", "gzip", gz[:len(gz)-10], "", page.OK},
		{"junk after it", "br", append(squeeze(t, "br", text), "junk"...), "", page.OK},
	}
	for _, tt := range tests {
		for _, chunked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/chunked=%v", tt.name, chunked), func(t *testing.T) {
				a := get(t, local(), serve(t, encoded(tt.coding, tt.body, chunked)), "/")
				for range 2 { // decoders are used again
					got, o := a.Decoded(1 << 20)
					if o != tt.outcome {
						t.Fatalf("outcome %v", o)
					}
					if tt.want == "" && len(tt.body) > 0 && o == page.OK {
						if !strings.HasPrefix(string(text), string(got)) || len(got) == 0 {
							t.Errorf("what can be read is kept: %d bytes", len(got))
						}
					} else if string(got) != tt.want {
						t.Errorf("%d bytes %.60q", len(got), got)
					}
				}
				if payload(t, a) != string(tt.body) {
					t.Error("decoding changed what is archived")
				}
			})
		}
	}
}

// A payload is read in one go or as a stream, by its size and its layers; a
// caller sees hardly a difference, also when it is damaged.
func TestDecodedInOneGo(t *testing.T) {
	noise := make([]byte, maxBuffer+maxBuffer/4)
	rand.NewChaCha8([32]byte{}).Read(noise)
	long := append(noise, strings.Repeat("<p>All work and no play. ", 1000)...)
	for _, form := range []string{"gzip", "zlib", "deflate"} {
		coding := strings.Replace(form, "zlib", "deflate", 1)
		for name, damage := range map[string]func(b []byte) []byte{
			"whole":         func(b []byte) []byte { return b },
			"cut":           func(b []byte) []byte { return b[:len(b)/2] },
			"no trailer":    func(b []byte) []byte { return b[:len(b)-4] },
			"wrong trailer": func(b []byte) []byte { b[len(b)-5] ^= 1; return b },
			"junk after it": func(b []byte) []byte { return append(b, "some junk after it"...) },
			"twice":         func(b []byte) []byte { return append(b, b...) },
			"flipped":       func(b []byte) []byte { b[len(b)/2] ^= 0x10; return b },
		} {
			t.Run(form+"/"+name, func(t *testing.T) {
				decoded := func(coding string, body []byte) string {
					a := get(t, local(), serve(t, encoded(coding, body, false)), "/")
					got, o := a.Decoded(0)
					if o != page.OK {
						t.Error(o)
					}
					return string(got)
				}
				short := damage(squeeze(t, form, long[len(noise)-2000:]))
				once, layered := decoded(coding, short), decoded(coding+", br", squeeze(t, "br", short))
				// Before damage a stream reads ahead, and misses a symbol or two.
				if !strings.HasPrefix(once, layered) || len(once)-len(layered) > 2*258 || name == "whole" && once != layered {
					t.Errorf("%d bytes in one go, %d as a stream", len(once), len(layered))
				}
				if got := decoded(coding, damage(squeeze(t, form, long))); !strings.HasPrefix(got, string(long[:maxBuffer/3])) {
					t.Errorf("%d bytes of a long one", len(got))
				}
			})
		}
	}
}

func TestLimitsDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Limits{MaxRatio: rapid.Int64Range(1, 1<<40).Draw(t, "ratio")}
		wire := rapid.Int64Range(0, 1<<40).Draw(t, "wire")
		most := rapid.Int64Range(1, math.MaxInt64-1).Draw(t, "most")
		bomb := func(out int64) bool { return out > most || out > ratioFloor && out/l.MaxRatio > wire }
		if n := l.decoded(wire, most); bomb(n) || !bomb(n+1) {
			t.Errorf("%d bytes", n)
		}
	})
}

func TestBomb(t *testing.T) {
	zeros := make([]byte, 16<<20)
	gz := squeeze(t, "gzip", zeros)
	empties := bytes.Repeat(squeeze(t, "gzip", nil), 1<<20)
	for name, tt := range map[string]struct {
		coding string
		body   []byte
	}{
		"size-03 brotli":       {"br", squeeze(t, "br", zeros)},
		"gzip":                 {"gzip", gz},
		"zstd":                 {"zstd", squeeze(t, "zstd", zeros)},
		"deflate":              {"deflate", squeeze(t, "zlib", zeros)},
		"gzip in gzip":         {"gzip, gzip", squeeze(t, "gzip", gz)},
		"hidden between gzips": {"gzip, gzip", squeeze(t, "gzip", empties)},
	} {
		t.Run(name, func(t *testing.T) {
			a := get(t, local(), serve(t, encoded(tt.coding, tt.body, false)), "/")
			if b, o := a.Decoded(0); o != page.Bomb || b != nil {
				t.Errorf("%v, %d bytes", o, len(b))
			}
			if cap(a.scratch) > 3*ratioFloor {
				t.Errorf("%d bytes were taken to find out", cap(a.scratch))
			}
		})
	}
	t.Run("beyond max", func(t *testing.T) {
		a := get(t, local(), serve(t, encoded("gzip", squeeze(t, "gzip", zeros[:2000]), false)), "/")
		if _, o := a.Decoded(1999); o != page.Bomb {
			t.Error(o)
		}
		if b, o := a.Decoded(2000); o != page.OK || len(b) != 2000 {
			t.Error(o, len(b))
		}
	})
	t.Run("plain beyond max", func(t *testing.T) {
		for _, chunked := range []bool{false, true} {
			a := get(t, local(), serve(t, encoded("identity", zeros[:2000], chunked)), "/")
			if b, o := a.Decoded(1999); o != page.TooLarge || len(b) != 1999 {
				t.Error(o, len(b))
			}
		}
	})
}

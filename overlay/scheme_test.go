package overlay

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseScheme(t *testing.T) {
	for text, want := range map[string]struct {
		s    Scheme
		text string
	}{
		"":                                  {Scheme{}, "host"},
		"host":                              {Scheme{}, "host"},
		"url":                               {Scheme{By: ByURL}, "url"},
		"host-8":                            {Scheme{By: ByHostN, N: 8}, "host-8"},
		"redirect":                          {Scheme{Second: ByLoad, Over: 500, Max: 1}, "redirect"},
		"redirect:host,load,over=500,max=1": {Scheme{Second: ByLoad, Over: 500, Max: 1}, "redirect"},
		"redirect:url, over=20, max=3":      {Scheme{By: ByURL, Second: ByLoad, Over: 20, Max: 3}, "redirect:url,over=20,max=3"},
		"redirect:rtt":                      {Scheme{Second: ByRTT, Far: 100 * time.Millisecond, Max: 1}, "redirect:rtt"},
		"redirect:host-8,over=80ms,n=16":    {Scheme{By: ByHostN, N: 8, Second: ByRTT, Far: 80 * time.Millisecond, Max: 1, Fan: 16}, "redirect:host-8,over=80ms,n=16"},
		"redirect:rtt,over=80ms":            {Scheme{Second: ByRTT, Far: 80 * time.Millisecond, Max: 1}, "redirect:over=80ms"},
		"adaptive":                          {Scheme{Second: Adapt, Over: 4096}, "adaptive:over=4096"},
		"adaptive:over=500":                 {Scheme{Second: Adapt, Over: 500}, "adaptive:over=500"},
		"adaptive:over=100,n=64":            {Scheme{Second: Adapt, Over: 100, Fan: 64}, "adaptive:over=100,n=64"},
		"adaptive:rtt":                      {Scheme{Second: Adapt, Over: 4096, Far: 100 * time.Millisecond}, "adaptive:rtt,over=4096"},
		"adaptive:over=9,rtt=80ms,n=4":      {Scheme{Second: Adapt, Over: 9, Far: 80 * time.Millisecond, Fan: 4}, "adaptive:rtt=80ms,over=9,n=4"},
		"redirect:load,over=7,n=2,url":      {Scheme{By: ByURL, Second: ByLoad, Over: 7, Max: 1, Fan: 2}, "redirect:url,over=7,n=2"},
	} {
		got, err := ParseScheme(text)
		if err != nil || got != want.s {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want.s)
			continue
		}
		if got.String() != want.text {
			t.Errorf("%s is written %s, want %s", text, got, want.text)
		}
		if again, err := ParseScheme(got.String()); err != nil || again != got {
			t.Errorf("%s is read again as %+v, %v", got, again, err)
		}
	}
	for text, hint := range map[string]string{
		"hosts":                          "there are host, url, host-8",
		"host:8":                         "there are host",
		"host-1":                         "from 2 to 256",
		"host-x":                         "such as host-8",
		"host-257":                       "from 2 to 256",
		"redirect:":                      "there are host, url",
		"redirect:domain":                "there are host, url",
		"redirect:host-0":                "from 2 to 256",
		"redirect:max=0":                 "from 1 to 255",
		"redirect:n=many":                "from 2 to 256",
		"redirect:over=-1":               "from 1",
		"redirect:over=-80ms":            "longer than nothing",
		"redirect:over=2h":               "up to a minute",
		"redirect:rtt,over=80":           "such as 80ms",
		"adaptive:url":                   "there are over=4096, n=64, rtt",
		"adaptive:rtt=2h":                "up to a minute",
		"adaptive:rtt=near":              "such as 80ms",
		"redirect:rtt=80ms":              "over=80ms",
		"adaptive:over=80ms":             "not a number",
		"adaptive:rtt=80ms,rtt=5ms":      "rtt=5ms: load or rtt was said before",
		"adaptive:rtt,over=5,rtt":        "was said before",
		"adaptive:n=4,n=4":               "n=4: n was said before",
		"redirect:url,host-8":            "host-8: which pages stay together was said before",
		"redirect:load,rtt":              "was said before",
		"redirect:over=80ms,load,over=7": "over was said before",
		"adaptive:max=2":                 "there are over=4096, n=64",
	} {
		if s, err := ParseScheme(text); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %+v, %v, want %q", text, s, err, hint)
		}
	}
}

func FuzzParseScheme(f *testing.F) {
	f.Add("redirect:host-8,over=80ms,n=16,max=2")
	f.Add("adaptive:over=100,n=64")
	f.Add("adaptive:rtt=80ms,over=100")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScheme(text)
		if err != nil {
			return
		}
		if again, err := ParseScheme(s.String()); err != nil || again != s {
			t.Fatalf("%q is %+v, written %s, read as %+v, %v", text, s, s, again, err)
		}
	})
}

func scheme(t interface {
	Helper()
	Fatal(...any)
}, text string) Scheme {
	t.Helper()
	s, err := ParseScheme(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Where the pages of one host live.
func TestHome(t *testing.T) {
	for text, want := range map[string][2]int{
		"host": {1, 1}, "redirect": {1, 1}, "adaptive": {1, 1}, "redirect:rtt": {1, 1},
		"host-8": {8, 8}, "redirect:host-8": {8, 8},
		"url": {200, Parts}, "redirect:url": {200, Parts},
	} {
		k := NewKeys(scheme(t, text), Parts)
		homes := map[int]bool{}
		for i := range 1000 {
			homes[k.Home(mustURL(t, fmt.Sprintf("https://www.example.org/%d", i)))] = true
		}
		if n := len(homes); n < want[0] || n > want[1] {
			t.Errorf("%s: pages of one host live in %d partitions", text, n)
		}
		if text != "url" && text != "redirect:url" && !homes[k.HostPart("www.example.org")] {
			t.Errorf("%s: no page lives where its host does", text)
		}
	}
}

// An address is the same written as IPv4 or as IPv6.
func TestAddrPart(t *testing.T) {
	k := NewKeys(Scheme{}, Parts)
	if k.AddrPart(netip.MustParseAddr("192.0.2.1")) != k.AddrPart(netip.MustParseAddr("::ffff:192.0.2.1")) {
		t.Error("an address has two partitions")
	}
	seen := map[int]bool{}
	for i := range 1000 {
		seen[k.AddrPart(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}))] = true
	}
	if len(seen) < 240 {
		t.Errorf("1000 addresses live in %d partitions", len(seen))
	}
}

// The schemes that only move the fetch keep the home of what they stand on.
func TestHomeStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := anyURL.Draw(t, "url")
		parts := rapid.IntRange(1, 300).Draw(t, "parts")
		way := Scheme{By: rapid.SampledFrom([]Way{ByHost, ByURL, ByHostN}).Draw(t, "way"), N: rapid.IntRange(2, 9).Draw(t, "n")}
		moves := way
		moves.Second = rapid.SampledFrom([]Chance{ByLoad, ByRTT, Adapt}).Draw(t, "chance")
		moves.Max, moves.Fan = 3, rapid.IntRange(0, 9).Draw(t, "fan")
		home := NewKeys(way, parts).Home(u)
		if got := NewKeys(moves, parts).Home(u); got != home || home < 0 || home >= parts {
			t.Fatalf("the home of %s is %d, with moves %d", u, home, got)
		}
	})
}

func BenchmarkHome(b *testing.B) {
	u := mustURL(b, "https://www.example.org/category/product-12345.html?lang=en")
	for _, text := range []string{"host", "url", "host-8"} {
		b.Run(text, func(b *testing.B) {
			k := NewKeys(scheme(b, text), Parts)
			b.ReportAllocs()
			for b.Loop() {
				k.Home(u)
			}
		})
	}
}

package robots

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A path costs a few microseconds however the file was made to be slow.
func BenchmarkAllowed(b *testing.B) {
	for _, f := range bigFiles() {
		r := Parse([]byte(f.body), "weir")
		b.Run(f.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r.Allowed(f.paths[i%len(f.paths)])
			}
			b.ReportMetric(float64(len(r.rules)), "rules")
			b.ReportMetric(float64(r.Size()), "bytes")
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, f := range bigFiles() {
		b.Run(f.name, func(b *testing.B) {
			b.SetBytes(int64(len(f.body)))
			for b.Loop() {
				Parse([]byte(f.body), "weir")
			}
		})
	}
}

type bigFile struct {
	name, body string
	paths      []string
	tooLong    bool // for all its paths
}

func bigFiles() []bigFile {
	usual := []string{
		"/",
		"/shop/category-17/item-4711/print?sid=9&sort=price",
		"/shop/category-3/images/header.gif",
		"/wiki/Special:Search?search=robots&go=Go",
		"/2024/05/17/a-rather-long-title-of-an-article-about-crawling-the-web.html",
		"/~user/notes/%E3%83%84/index.html?page=12#top",
	}
	letters := []string{"/abcdefghijklmnopqrstuvwxyz", "/the-quick-brown-fox-jumps-over-the-lazy-dog"}
	return []bigFile{
		{"small", "User-agent: *\nDisallow: /admin/\nDisallow: /*?sid=\nDisallow: /*/print$\nAllow: /admin/help\nDisallow: *.gif$\n", usual, false},
		{"literals", fill(func(i int) string { return fmt.Sprintf("/shop/category-%d/", i) }), usual, false},
		{"chain", fill(func(i int) string { return "/" + strings.Repeat("a", i+1) }), []string{"/" + strings.Repeat("a", 900) + "b"}, false},
		{"wildcards", fill(func(i int) string {
			return [...]string{"/shop/category-%d/*/print", "/*?sid=%d&*", "/*/item-%d$", "/wiki/Special:*&go%d="}[i%4]
		}), usual, false},
		{"wildcards-slash-star", fill(func(i int) string { return fmt.Sprintf("/*%x", uint32(i*2654435761)) }), usual, false},
		{"wildcards-shared-piece", fill(func(i int) string { return fmt.Sprintf("/*category-*%d*z", i) }), usual, false},
		{"wildcards-backtracking", fill(func(i int) string { return "/" + strings.Repeat("*a", i%500+1) + "*b" }), []string{"/" + strings.Repeat("a", 200)}, false},
		// Every piece of every rule stands in the path, only never in order.
		{"wildcards-out-of-order", fill(outOfOrder(letters[0])), letters, true},
	}
}

// fill makes a file of MaxSize from Disallow rules.
func fill(rule func(i int) string) string {
	var b strings.Builder
	b.WriteString("User-agent: *\n")
	for i := 0; ; i++ {
		s := rule(i)
		if strings.Contains(s, "%d") {
			s = fmt.Sprintf(s, i)
		}
		if b.Len()+len("Disallow: \n")+len(s) > MaxSize {
			return b.String()
		}
		b.WriteString("Disallow: " + s + "\n")
	}
}

// outOfOrder makes rules of single letters that all stand in the path, the last
// two the wrong way round.
func outOfOrder(path string) func(int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	return func(int) string {
		last := 1 + rng.IntN(len(path)-2)
		s := "/"
		for range 3 {
			s += "*" + path[1+rng.IntN(last):][:1]
		}
		return s + "*" + path[last+1:][:1] + "*" + path[last:][:1]
	}
}

package main

import (
	"os"
	"path/filepath"
	"time"

	"weir/internal/testweb"
)

// start measures the time to the first request, of a new crawl and of one that
// was killed.
func (l *lab) start() error {
	w, err := l.serve(webConfig{Sites: testweb.Even(1000, testweb.Site{Pages: 100, Links: 30, Size: 2000}), Addresses: 100})
	if err != nil {
		return err
	}
	defer w.close()
	if err := os.WriteFile(w.seeds, []byte(w.URLs[0]+"\n"), 0o644); err != nil {
		return err
	}
	var fresh, again figures
	for range max(1, l.runs) {
		dir := filepath.Join(l.dir, "start")
		for _, f := range []*figures{&fresh, &again} {
			took, err := l.first(w, dir)
			if err != nil {
				return err
			}
			*f = append(*f, took.Seconds())
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	l.target("start to first request", fresh, "s", atMost(0.1))
	l.target("first request after kill -9", again, "s", atMost(2))
	return nil
}

// first runs weir until it first tells of itself, and kills it. It returns the
// time to the first request.
func (l *lab) first(w *web, dir string) (time.Duration, error) {
	if err := w.mark(); err != nil {
		return 0, err
	}
	from := time.Now()
	cmd := l.command(w, dir, "--scope", "any", "--wait", "0s", "--per-conn", "100")
	lines, err := begin(cmd)
	if err != nil {
		return 0, err
	}
	defer kill(cmd)
	at, err := w.heard()
	if err != nil {
		return 0, err
	}
	lines.Scan()
	return at.Sub(from), nil
}

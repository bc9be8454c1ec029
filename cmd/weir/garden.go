package main

import (
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"strings"
	"time"
)

// gardenText is the web of the tutorial, docs/query.md.
//
//go:embed garden.txt
var gardenText string

// gardenAddr is where the garden is served unless that is taken.
const gardenAddr = "127.0.0.1:8808"

// gardenFile has the settings with which the garden is crawled.
const gardenFile = "garden.yaml"

// garden serves a small web under names that no DNS knows, as a proxy: a crawl
// that goes through it sees http://garden.test/ and its neighbours.
type garden map[string]string // pages by host and path

func newGarden() garden {
	g := garden{}
	name := ""
	for line := range strings.Lines(gardenText) {
		if n, ok := strings.CutPrefix(line, "-- "); ok {
			name = strings.TrimSuffix(n, " --\n")
			g[name] = ""
			continue
		}
		if name != "" {
			g[name] += line
		}
	}
	return g
}

// ServeHTTP answers as the site that the request names.
func (g garden) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := g[r.Host+r.URL.Path]
	if !ok {
		http.Error(w, "nothing grows here", http.StatusNotFound)
		return
	}
	if to, moved := strings.CutPrefix(text, "moved: "); moved {
		http.Redirect(w, r, strings.TrimSpace(to), http.StatusMovedPermanently)
		return
	}
	kind := map[string]string{".txt": "text/plain", ".xml": "application/xml", ".pdf": "application/pdf"}[path.Ext(r.URL.Path)]
	if kind == "" {
		kind = "text/html; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Last-Modified", "Mon, 01 Jun 2026 08:00:00 GMT")
	fmt.Fprint(w, text)
}

// open serves the garden at an address and writes its settings into a folder.
func (g garden) open(addr, dir string) (*http.Server, net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	text := fmt.Sprintf("# The garden of docs/query.md. It is our own, so there is no need to wait.\nproxy: http://%s\nwait: 1ms\n", l.Addr())
	if err := os.WriteFile(path.Join(dir, gardenFile), []byte(text), 0o644); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	return &http.Server{Handler: g, ReadHeaderTimeout: 10 * time.Second}, l, nil
}

// garden serves the tutorial's web until Ctrl-C.
func (c *demoCmd) garden(e *env) error {
	server, l, err := newGarden().open(gardenAddr, ".")
	if err != nil {
		return failure(fmt.Errorf("cannot open the garden: %w", plain(err)), "it needs "+gardenAddr+" and a folder to write "+gardenFile+" to; is it open already?")
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	fmt.Fprintf(e.out, "The garden is open. Leave it so, and in another terminal, here, type\n\n"+
		"  weir crawl --config %s http://garden.test/\n\nCtrl-C closes it.\n", gardenFile)
	select {
	case <-ctx.Done():
		err = server.Close()
		<-done
		return err
	case err := <-done:
		return err
	}
}

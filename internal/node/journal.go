package node

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"weir/page"
)

// journal is log.jsonl: what went wrong, a line each, for people who look for
// the reason afterwards. It is written as it comes and never synced; nothing is
// decided by it.
type journal struct {
	mu  sync.Mutex
	f   *os.File
	w   *bufio.Writer
	err error
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return &journal{f: f, w: bufio.NewWriter(f)}, nil
}

// event writes a line of the crawl as a whole, at once.
func (j *journal) event(what string, fields map[string]any) {
	line := map[string]any{"time": time.Now().UTC(), "event": what}
	for k, v := range fields {
		line[k] = v
	}
	j.write(line, true)
}

// page writes a line about a page that did not go well.
func (j *journal) page(f *page.Facts, why string) {
	j.write(struct {
		Time    time.Time    `json:"time"`
		Event   string       `json:"event"`
		URL     string       `json:"url"`
		Outcome page.Outcome `json:"outcome"`
		Status  int          `json:"status,omitempty"`
		Why     string       `json:"why,omitempty"`
		Attempt uint8        `json:"attempt,omitempty"`
		Final   bool         `json:"final"`
	}{time.Now().UTC(), "page", f.URL.String(), f.Outcome, f.Status, why, f.Attempt, f.Outcome.Final(f.Attempt)}, false)
}

func (j *journal) write(line any, now bool) {
	b, err := json.Marshal(line)
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	if err == nil {
		_, err = j.w.Write(append(b, '\n'))
	}
	if err == nil && now {
		err = j.w.Flush()
	}
	j.err = err // a full disk stops the crawl elsewhere; the log just ends
}

func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = j.w.Flush()
	}
	_ = j.f.Close()
}

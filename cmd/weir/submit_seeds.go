package main

import (
	"context"
	"encoding/json"
	"fmt"

	"weir/crawl"
	"weir/internal/cluster"
	"weir/overlay"
	"weir/page"
)

// seedsTopic asks a node how pages have ended that a crawl was to start from.
const seedsTopic = "seeds"

// seedsEnd is how they have. Names are for other versions: add, never rename.
type seedsEnd struct {
	OK   bool     `json:"ok,omitempty"`   // one of them has led to a page: the others do not matter
	Ends []string `json:"ends,omitempty"` // of each, its outcome; queued; "": this node knows nothing of it
}

const stillQueued = "queued"

// seeds answers with what the node has of them.
func (s *station) seeds(ctx context.Context, b []byte) ([]byte, error) {
	var urls []string
	if err := json.Unmarshal(b, &urls); err != nil {
		return nil, fmt.Errorf("read which seeds are meant: %w", err)
	}
	f, _, done, err := s.reader()
	if err != nil {
		return nil, err
	}
	defer done()
	s.mu.Lock()
	keys := overlay.NewKeys(s.scheme, overlay.Parts)
	s.mu.Unlock()
	var out seedsEnd
	for _, url := range urls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		u, err := page.Parse(url)
		if err != nil {
			return nil, err
		}
		end := ""
		ok, err := findAt(f, keys, u, func(p *crawl.PageInfo) bool {
			switch {
			case p.State == "queued":
				end = stillQueued
			case p.Outcome == page.OK && p.Status == 0: // it was handed on: another node knows how it ended
				return false
			case p.Outcome != page.None:
				end = p.Outcome.String()
			}
			return p.Outcome.Row().Kept || p.Outcome == page.Redirected
		})
		if err != nil {
			return nil, err
		}
		if ok != nil {
			return json.Marshal(seedsEnd{OK: true})
		}
		out.Ends = append(out.Ends, end)
	}
	return json.Marshal(out)
}

// reached is the error of a crawl, or of a program that has come to share one, of whose
// seeds none has led to a page. Where not all nodes can be asked there is none: they
// may have fetched some.
func (c *submitCmd) reached(ctx context.Context, cl *cluster.Client, all *fleetStatus) error {
	if len(c.seeds) == 0 || len(all.missing()) > 0 {
		return nil
	}
	ends := make([]string, len(c.seeds))
	for _, n := range all.Nodes {
		var got seedsEnd
		if err := put(ctx, cl, n.Name, seedsTopic, c.seeds, &got); err != nil || got.OK || len(got.Ends) != len(ends) {
			return nil // a node of an older weir does not know
		}
		for i, end := range got.Ends {
			if ends[i] == "" || ends[i] == stillQueued && end != "" { // who owned it before has it as it was then
				ends[i] = end
			}
		}
	}
	waiting, outcomes := int64(0), map[string]int64{}
	for _, end := range ends {
		switch end {
		case "":
		case stillQueued:
			waiting++
		default:
			outcomes[end]++
		}
	}
	if waiting == 0 && len(outcomes) == 0 {
		return nil // its rules do not ask for them
	}
	return noSeed(outcomes, waiting, "weir export pages --at HOST:PORT tells how each page has ended")
}

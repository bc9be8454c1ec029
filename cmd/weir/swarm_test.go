package main

import (
	"errors"
	"strings"
	"testing"

	"weir/overlay"
)

// TestNobodyIsMissed: a node that has handed its partitions out and left is not missed
// where the others tell all of them, though the one that was asked still names it.
func TestNobodyIsMissed(t *testing.T) {
	leaving := errors.New("the node is leaving")
	var low, high, all []int
	for p := range overlay.Parts {
		if all = append(all, p); p < overlay.Parts/2 {
			low = append(low, p)
		} else {
			high = append(high, p)
		}
	}
	tells := func(node string, parts []int) []news {
		return []news{{node: node, parts: parts, batch: new(batch)}, {node: node, batch: new(batch)}, {node: node, end: true}}
	}
	for _, c := range []struct {
		what    string
		news    [][]news
		parted  bool
		orphans int
		lacks   string
	}{
		{"all are there", [][]news{tells("a", low), tells("b", high)}, true, 0, ""},
		{"one has left", [][]news{tells("a", low), tells("b", high), {{node: "c", err: leaving}}}, true, 0, ""},
		{"one has failed midway, and others have what it had", [][]news{{{node: "c", parts: low}, {node: "c", err: leaving}}, tells("a", low), tells("b", high)}, true, 0, ""},
		{"one has failed midway, and nobody else has it", [][]news{{{node: "c", parts: low}, {node: "c", err: leaving}}, tells("b", high)}, true, len(low), "without what c has: the node is leaving"},
		{"partitions are with nobody", [][]news{tells("a", high[1:]), tells("b", low)}, true, 1, "1 partitions that have no owner"},
		{"nobody answers", [][]news{{{node: "c", err: leaving}}}, true, overlay.Parts, "without what c has"},
		{"partitions that there are not", [][]news{tells("a", all[1:]), tells("b", []int{-1, overlay.Parts})}, true, 1, "no owner"},
		{"pages are where they were fetched", [][]news{tells("a", low), tells("b", high), {{node: "c", err: leaving}}}, false, 0, "without what c has"},
	} {
		w := &swarm{missing: map[string]error{}}
		tally := newTally()
		for _, list := range c.news {
			for _, n := range list {
				tally.take(n)
			}
		}
		w.miss(tally, c.parted)
		err := w.lacks("there is an answer")
		if w.orphans != c.orphans || c.lacks == "" && err != nil || c.lacks != "" && (err == nil || !strings.Contains(err.Error(), c.lacks)) {
			t.Errorf("%s: %d orphans: %v", c.what, w.orphans, err)
		}
	}

	// What was missed before is missed still.
	w := &swarm{missing: map[string]error{"c": leaving}}
	tally := newTally()
	for _, n := range tells("a", all) {
		tally.take(n)
	}
	if w.miss(tally, true); w.lacks("there is an answer") == nil {
		t.Error("c is not missed")
	}
}

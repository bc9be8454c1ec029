package mesh

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weir/overlay"
	"weir/page"
)

// The tests of this package can fail: each mutant is a Member with one rule of the
// protocol broken, and the world sees it.

// mutant changes what a Member hears and says.
type mutant struct {
	*overlay.Member
	hear  func(*mutant, overlay.Event) overlay.Event
	say   func(*mutant, overlay.Action) []overlay.Action
	extra []overlay.Event // it hears these first
	mine  map[int]uint64  // what it believes to own; nil = what the Member says
	brash bool            // it never looks at Until
}

func (m *mutant) Step(now page.Time, ev overlay.Event) []overlay.Action {
	var out []overlay.Action
	extra := m.extra
	m.extra = nil
	for _, ev := range append(extra, ev) {
		if m.hear != nil {
			ev = m.hear(m, ev)
		}
		for _, a := range m.Member.Step(now, ev) {
			if m.say == nil {
				out = append(out, a)
			} else {
				out = append(out, m.say(m, a)...)
			}
		}
	}
	return out
}

func (m *mutant) Mine(part int) bool {
	if m.mine != nil {
		return m.mine[part] != 0
	}
	return m.Member.Mine(part)
}

func (m *mutant) Until() page.Time {
	if m.brash {
		return 1<<63 - 1
	}
	return m.Member.Until()
}

func chain(seed uint64) Setting {
	return Setting{Seed: seed, Parts: 8, Pages: 40, Fetch: 300 * time.Millisecond, Slow: 0.5, Chain: true}
}

var mutants = []struct {
	name  string
	make  func(c overlay.Config) *mutant
	set   func(*Setting)
	calm  bool // without trouble, on a chain
	dark  bool // with outages, and no other trouble
	fault string
}{
	{
		name: "does not stop when its session may be over",
		make: func(c overlay.Config) *mutant {
			return &mutant{Member: overlay.NewMember(c), brash: true, mine: map[int]uint64{}, say: func(m *mutant, a overlay.Action) []overlay.Action {
				switch a := a.(type) {
				case overlay.Fence:
					return nil
				case overlay.Adopt:
					m.mine[a.Part] = a.Epoch
				case overlay.Disown:
					delete(m.mine, a.Part)
				}
				return []overlay.Action{a}
			}}
		},
		fault: "which n",
	},
	{
		name:  "does not look at the time before it sends a request",
		make:  func(c overlay.Config) *mutant { return &mutant{Member: overlay.NewMember(c), brash: true} },
		fault: "which n",
	},
	{
		name: "tells of an end before the links",
		make: func(c overlay.Config) *mutant {
			return &mutant{Member: overlay.NewMember(c), hear: func(m *mutant, ev overlay.Event) overlay.Event {
				if p, ok := ev.(overlay.Parcel); ok {
					return overlay.Parcel{Seq: p.Seq, Rows: slices.Concat(p.Ended, p.Rows)}
				}
				return ev
			}}
		},
		fault: "links to is in no log",
	},
	{
		name: "adopts before it has read the log",
		make: func(c overlay.Config) *mutant {
			return &mutant{Member: overlay.NewMember(c), mine: map[int]uint64{}, say: func(m *mutant, a overlay.Action) []overlay.Action {
				switch a := a.(type) {
				case overlay.Append:
					if t, ok := a.Batch.Records[0].(overlay.Taken); ok && m.mine[a.Part] < t.Epoch {
						m.mine[a.Part] = t.Epoch
						return []overlay.Action{a, overlay.Adopt{Part: a.Part, Epoch: t.Epoch}}
					}
				case overlay.Adopt:
					if m.mine[a.Part] == a.Epoch {
						return nil
					}
					m.mine[a.Part] = a.Epoch
				case overlay.Disown:
					delete(m.mine, a.Part)
				case overlay.Fence:
					clear(m.mine)
				}
				return []overlay.Action{a}
			}}
		},
		fault: "before it took over",
	},
	{
		name: "hands over before its requests have ended",
		make: func(c overlay.Config) *mutant {
			return &mutant{Member: overlay.NewMember(c), say: func(m *mutant, a overlay.Action) []overlay.Action {
				if d, ok := a.(overlay.Disown); ok {
					m.extra = append(m.extra, overlay.Empty(d))
				}
				return []overlay.Action{a}
			}}
		},
		fault: "has a request there",
	},
	{
		name: "takes hosts for rested that others have just visited",
		make: func(c overlay.Config) *mutant {
			return &mutant{Member: overlay.NewMember(c), say: func(m *mutant, a overlay.Action) []overlay.Action {
				if x, ok := a.(overlay.Adopt); ok {
					x.Since = x.Since.Add(-10 * time.Second)
					a = x
				}
				return []overlay.Action{a}
			}}
		},
		fault: "adopts partition",
	},
	{
		name: "does not go back in a log that has lost its end",
		make: func(c overlay.Config) *mutant {
			return &mutant{Member: overlay.NewMember(c), hear: func(m *mutant, ev overlay.Event) overlay.Event {
				if _, ok := ev.(overlay.Rewound); ok {
					return overlay.Tick{}
				}
				return ev
			}}
		},
		dark:  true,
		fault: "is quiet, and page",
	},
	{
		name:  "believes one round",
		make:  func(c overlay.Config) *mutant { return &mutant{Member: overlay.NewMember(c)} },
		set:   func(s *Setting) { s.Rounds = 1 },
		calm:  true,
		fault: "is quiet, and page",
	},
}

func TestMutants(t *testing.T) {
	for _, x := range mutants {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			n := *seeds
			if x.calm { // they are short, and few of them show it
				n *= 10
			}
			for seed := range uint64(n) {
				s := trouble(seed)
				if x.calm {
					s = chain(seed)
				}
				if x.set != nil {
					x.set(&s)
				}
				s.New = func(c overlay.Config) Machine { return x.make(c) }
				w := NewWorld(s, 5)
				w.nodes[0].seed(0)
				switch {
				case x.dark:
					w.Outages(2 * time.Minute)
				case !x.calm:
					w.Trouble(2*time.Minute, 8)
				}
				w.Net.Run(minutes(5), func() bool { return len(w.faults) > 0 || w.finished() })
				for _, f := range w.faults {
					if strings.Contains(f, x.fault) {
						t.Logf("seed %d: %s", seed, f)
						return
					}
				}
			}
			t.Errorf("nobody notices a node that %s", x.name)
		})
	}
}

// Where each page links to one other only, everything looks over all the time.
func TestChain(t *testing.T) {
	for seed := range uint64(*seeds) {
		w := NewWorld(chain(seed), 5)
		w.nodes[0].seed(0)
		if !w.ends(t, minutes(20)) {
			break
		}
	}
}

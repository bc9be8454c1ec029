package crawl

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/overlay"
	"weir/page"
)

// rightful holds the rows that have moved to the words that moved them: somebody who owned
// a partition said in its log that it leaves the page, while that did not say that the page
// was fetched.
func (f *fleet) rightful() {
	type word struct {
		url string
		to  int
	}
	good := map[word]bool{}
	for part := range fleetParts {
		reign, fetched := uint64(0), map[string]bool{}
		for _, b := range f.logs[part] {
			for _, r := range b.Records {
				switch r := r.(type) {
				case overlay.Taken:
					reign = max(reign, r.Epoch)
				case overlay.Done:
					for _, p := range r.Pages {
						if p.Status != 0 || p.Outcome != page.OK {
							fetched[fmt.Sprint(p.Site, p.Hash)] = true
						}
					}
				case overlay.Handed:
					for _, h := range r.Pages {
						if u := h.Row.URL; r.Epoch >= reign && !fetched[fmt.Sprint(u.Site(), worldSecret.Hash(u.Rest()))] {
							good[word{u.String(), int(h.To)}] = true
						}
					}
				}
			}
		}
	}
	for part := range fleetParts {
		for _, b := range f.logs[part] {
			for _, r := range b.Records {
				rows, _ := r.(overlay.Tuples)
				for _, row := range rows.Rows {
					if row.Moves > 0 && !good[word{row.URL.String(), part}] {
						f.t.Fatalf("%v was handed on to partition %d by who had no right to", row.URL, part)
					}
				}
			}
		}
	}
}

// late is a fleet whose first node has offered a page to another partition, and not said
// so yet. The second owns that one.
func late(t *rapid.T) (f *fleet, a, b *ship, u string, home, to int) {
	f, a, bring := crew(t, "adaptive:over=20", 2)
	b, u = f.nodes[1], "http://h.test/p"
	home = f.keys.HostPart("h.test")
	to = (home + 1) % fleetParts
	a.disown(to)
	b.adopt(to)
	bring(u, 2)
	for _, s := range a.site {
		a.giveSite(s, to)
	}
	a.commit()
	if len(a.outbox) != 1 || len(a.queued) != 0 {
		t.Fatalf("%d parcels, these wait: %v", len(a.outbox), a.queued)
	}
	return f, a, b, u, home, to
}

// Who was cut off while it handed a page on, and says so when another one has fetched the
// page, hands nothing on; nor does it fetch the page when its partition is back.
func TestLateWordsAreVoid(t *testing.T) {
	for _, reads := range []bool{false, true} { // before it says that: what the other one has done
		once(t, func(t *rapid.T) {
			f, a, b, u, home, _ := late(t)
			a.disown(home)
			b.adopt(home)
			b.fetch()
			b.settle()
			if f.asked[u] != 1 {
				t.Fatalf("the next owner has fetched the page %d times", f.asked[u])
			}
			if reads {
				a.read(home)
			}
			a.settle()
			b.settle()
			b.disown(home)
			a.adopt(home)
			if len(a.queued)+len(b.queued) != 0 {
				t.Fatalf("these wait: %v, %v", a.queued, b.queued)
			}
			for _, s := range f.nodes {
				s.audit()
			}
			if n := a.l.Totals(); n.Seen != 1 || n.Queued != 0 {
				t.Errorf("%d pages are known, %d wait", n.Seen, n.Queued)
			}
			f.rightful()
		})
	}
}

// A page whose owner could not hand it on any more is fetched by the next; or by itself,
// when its partition is back.
func TestVoidWordsLeavePages(t *testing.T) {
	for _, back := range []bool{false, true} {
		once(t, func(t *rapid.T) {
			f, a, b, u, home, _ := late(t)
			a.disown(home)
			next := b
			if back {
				next = a
			}
			next.adopt(home)
			a.settle()
			b.settle()
			if len(next.queued) != 1 || len(a.queued)+len(b.queued) != 1 || next.l.Waiting() != 1 {
				t.Fatalf("these wait: %v, %v", a.queued, b.queued)
			}
			next.fetch()
			a.settle()
			b.settle()
			if f.asked[u] != 1 || len(a.queued)+len(b.queued) != 0 {
				t.Fatalf("the page was fetched %d times; these wait: %v, %v", f.asked[u], a.queued, b.queued)
			}
			f.rightful()
		})
	}
}

// What a node has handed on, and not told of before it was gone, the next owner tells of;
// that one was not there when it was said, or was, and had a restart since.
func TestWordsAreKept(t *testing.T) {
	for _, stood := range []bool{false, true} {
		once(t, func(t *rapid.T) {
			f, a, b, u, home, _ := late(t)
			a.tell() // and it is gone
			if stood {
				b.read(home)
				b.settle()
				b.open()
				for part, o := range f.owner {
					if o == 1 {
						b.adopt(part)
					}
				}
			}
			if len(b.queued) > 0 {
				t.Fatalf("these wait: %v", b.queued)
			}
			b.adopt(home)
			b.settle()
			if len(b.queued) != 1 {
				t.Fatalf("these wait: %v", b.queued)
			}
			b.fetch()
			b.settle()
			a.read(home) // it comes back, after all
			a.settle()
			b.settle()
			if f.asked[u] != 1 || len(b.queued) != 0 {
				t.Fatalf("the page was fetched %d times; these wait: %v", f.asked[u], b.queued)
			}
			a.l.Disown(home)
			c := f.board(&ship{name: "n2", origin: 3})
			f.nodes = append(f.nodes, c)
			c.adopt(home)
			if len(c.outbox)+len(c.queued) > 0 {
				t.Fatalf("the one after it tells again: %v", c.outbox)
			}
			f.rightful()
		})
	}
}

// The end of a page that was handed on does not speak for a later word, which brings it
// nearer: if who gave that is gone before it has told of it, the next owner does.
func TestLaterWordsAreKept(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, b, u, home, _ := late(t)
		const child = "http://h.test/child"
		f.web[u] = []string{child}
		a.post(false)
		a.read(home)
		f.append(b, overlay.Post{Part: home, Records: []overlay.Record{overlay.Tuples{Rows: []overlay.Row{{URL: mustURL(u), Depth: 1}}}}})
		a.read(home)
		if len(a.outbox) != 2 {
			t.Fatalf("%d parcels", len(a.outbox))
		}
		f.ahead = true
		a.post(false) // and it is gone
		f.ahead = false
		for part := range fleetParts {
			if f.owner[part] == 0 {
				a.disown(part)
				b.adopt(part)
			}
		}
		for b.settle(); len(b.queued) > 0; b.settle() {
			b.fetch()
		}
		if f.asked[u] != 1 || f.asked[child] != 1 {
			t.Fatalf("the page was fetched %d times, and what it links to %d times", f.asked[u], f.asked[child])
		}
		f.rightful()
	})
}

// A word that is void, and comes twice, takes back no later one.
func TestWordsAreTakenBackOnce(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, b, u, home, to := late(t)
		old := a.outbox[0]
		a.disown(home)
		a.adopt(home)
		a.settle()
		for _, s := range a.site {
			a.giveSite(s, to)
		}
		a.commit()
		for _, p := range old.Rows {
			f.append(a, p)
		}
		a.settle()
		b.settle()
		if len(a.queued) != 0 || len(b.queued) != 1 {
			t.Fatalf("these wait: %v, %v", a.queued, b.queued)
		}
		b.fetch()
		b.settle()
		if f.asked[u] != 1 {
			t.Fatalf("the page was fetched %d times", f.asked[u])
		}
	})
}

// A page that is said to be left to a partition that there is not, or to its own, stays.
func TestWordsToNobody(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, bring := crew(t, "adaptive:over=20", 2)
		const u = "http://h.test/p"
		home := f.keys.HostPart("h.test")
		bring(u, 1)
		for _, to := range []uint16{fleetParts, 60000, uint16(home)} {
			word := overlay.Handed{Epoch: f.epoch, Pages: []overlay.Handing{{To: to, Row: overlay.Row{URL: mustURL(u), Depth: 1, Moves: 1}}}}
			f.append(a, overlay.Post{Part: home, Records: []overlay.Record{word}})
		}
		a.disown(home)
		b := f.nodes[1]
		b.adopt(home)
		if len(b.queued) != 1 || len(b.outbox) > 0 {
			t.Fatalf("these wait: %v; %d parcels", b.queued, len(b.outbox))
		}
	})
}

// Whether a word is good is known after a restart, and though the log has lost who owned
// the partition then.
func TestVoidWordsStayVoid(t *testing.T) {
	for name, reads := range map[string]func(f *fleet, b *ship, home int){
		"after a restart": func(_ *fleet, b *ship, home int) {
			b.read(home)
			b.open()
		},
		"the log has an end": func(f *fleet, b *ship, home int) {
			f.cut(home, overlay.Done{Epoch: f.epoch, Node: "n2"})
		},
		"the log has a word": func(f *fleet, b *ship, home int) {
			f.cut(home, overlay.Handed{Epoch: f.epoch})
		},
	} {
		once(t, func(t *rapid.T) {
			f, a, b, u, home, _ := late(t)
			a.disown(home)
			c := f.board(&ship{name: "n2", origin: 3})
			f.nodes = append(f.nodes, c)
			c.adopt(home)
			reads(f, b, home)
			a.settle() // its word comes late
			b.read(home)
			c.disown(home)
			b.adopt(home)
			b.settle()
			if len(b.queued) != 1 {
				t.Fatalf("%s: these wait: %v", name, b.queued)
			}
			for k := range b.queued {
				if int(b.site[k.Site].Part) != home {
					t.Fatalf("%s: %s was handed on", name, u)
				}
			}
		})
	}
}

// cut takes the last batch out of a log, in which somebody says that it owns the partition,
// and puts a record there.
func (f *fleet) cut(part int, r overlay.Record) {
	log := f.logs[part]
	if _, ok := log[len(log)-1].Records[0].(overlay.Taken); !ok {
		f.t.Fatalf("the log ends with %v", log[len(log)-1])
	}
	f.logs[part] = append(log[:len(log)-1:len(log)-1], overlay.Batch{Origin: 3, Records: []overlay.Record{r}})
}

// A log that has lost its end, and with it who owns the partition, makes no word good that
// was void to those who had read it.
func TestCutLogs(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, b, _, home, _ := late(t)
		a.disown(home)
		b.adopt(home)
		f.cut(home, overlay.Mark{})
		b.l.Rewind(home, 0)
		a.settle()
		b.settle()
		if len(b.queued) != 1 || int(b.site[only(b.queued).Site].Part) != home {
			t.Fatalf("these wait: %v", b.queued)
		}
	})
}

func only(queued map[page.Key]string) (k page.Key) {
	for k = range queued {
	}
	return k
}

// Who has offered a page as one that is near does not take another one's word for a page
// that is farther: nobody has heard of the nearer one yet.
func TestNearerOffersStay(t *testing.T) {
	once(t, func(t *rapid.T) {
		f, a, b, u, home, to := late(t)
		a.disown(home)
		a.read(home)
		r := a.row(only(map[page.Key]string{{Site: a.siteOf(home), Hash: worldSecret.Hash(mustURL(u).Rest())}: u}))
		if !r.offered() {
			t.Fatalf("the page is %+v", r)
		}
		f.epoch++
		far := overlay.Handed{Epoch: f.epoch, Pages: []overlay.Handing{{To: uint16(to), Row: overlay.Row{URL: mustURL(u), Depth: 3, Moves: 1}}}}
		f.append(b, overlay.Post{Part: home, Records: []overlay.Record{far}})
		a.settle() // and its own word, which is void by then
		a.adopt(home)
		if len(a.queued) != 1 {
			t.Fatalf("these wait: %v", a.queued)
		}
	})
}

// siteOf is the only site that a node has in a partition.
func (s *ship) siteOf(part int) (id page.SiteID) {
	for _, k := range s.site {
		if int(k.Part) == part {
			id = k.ID
		}
	}
	return id
}

// Ends of many pages are several records: one could be larger than what is appended at once.
func TestManyEndsAreCut(t *testing.T) {
	once(t, func(t *rapid.T) {
		_, a, _ := crew(t, "host", 2)
		to := a.l.share.posts.to(0)
		to.ended = make([]overlay.Ended, endsAtOnce*2+1)
		a.commit()
		ends := a.outbox[len(a.outbox)-1].Ended[0].Records
		if len(ends) != 3 || len(ends[2].(overlay.Done).Pages) != 1 {
			t.Fatalf("%d records", len(ends))
		}
	})
}

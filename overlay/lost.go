package overlay

import "weir/page"

// Search finds the pages whose records lie with one node, and with no other, in the
// log of a partition: give it all batches in order. Not safe for concurrent use.
type Search struct {
	node   string
	secret page.Secret
	pages  []found
	at     map[page.Key]int
	sites  names
}

// found is a page of a log.
type found struct {
	row  Row
	held bool // by the node
}

// NewSearch makes a search for the pages of a node, under the cluster's secret.
func NewSearch(node string, secret page.Secret) *Search {
	return &Search{node: node, secret: secret, at: map[page.Key]int{}}
}

// Take reads the next batch of the log.
func (s *Search) Take(b Batch) {
	for _, r := range b.Records {
		switch r := r.(type) {
		case Tuples:
			for i := range r.Rows {
				s.row(&r.Rows[i])
			}
		case Done:
			for i := range r.Pages {
				p := &r.Pages[i]
				if at, ok := s.at[s.key(p.Site, p.Hash)]; ok {
					s.pages[at].held = r.Node == s.node && !p.handedOn()
				}
			}
		case Lost:
			for i := range r.Rows {
				s.row(&r.Rows[i]).held = false
			}
		}
	}
}

// Rows returns a row for each of the pages, as the log has them.
func (s *Search) Rows() (rows []Row) {
	for i := range s.pages {
		if s.pages[i].held {
			rows = append(rows, s.pages[i].row)
		}
	}
	return rows
}

// row keeps the nearest row of a page.
func (s *Search) row(r *Row) *found {
	k := s.key(r.URL.Site(), s.secret.Hash(r.URL.Rest()))
	i, ok := s.at[k]
	if !ok {
		i = len(s.pages)
		s.at[k] = i
		s.pages = append(s.pages, found{row: *r})
	}
	f := &s.pages[i]
	if r.Depth < f.row.Depth {
		f.row = *r
	}
	return f
}

func (s *Search) key(site string, hash uint64) page.Key {
	i, _ := s.sites.find(site)
	return page.Key{Site: page.SiteID(i), Hash: hash}
}

// handedOn says that a page was not fetched but left to another partition, whose log
// says who has it.
func (e *Ended) handedOn() bool { return e.Outcome == page.OK && e.Status == 0 }

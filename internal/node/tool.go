package node

import (
	"time"

	"weir/crawl"
	"weir/internal/extract"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/page"
	"weir/robots"
)

// tool is what reading a page takes: a reader, an encoder and their buffers.
// There are a few of them, and a visit borrows one; so the work that costs CPU
// is bounded however many connections there are.
type tool struct {
	n       *node
	reader  extract.Reader
	encoder *store.Encoder
}

func newTool(n *node) *tool {
	return &tool{n: n, encoder: n.store.NewEncoder(0)}
}

// extract says how pages are read, now and again.
func (n *node) extract() extract.Config {
	c := &n.cfg
	want := c.Want
	if w := n.want.Load(); w != nil {
		want = *w
	}
	return extract.Config{
		Want:  want,
		Agent: c.Agent, Strip: c.Strip, Secret: n.secret, Memory: c.Memory,
	}
}

// result is a page on its way to the committer.
type result struct {
	id     uint64
	facts  *page.Facts
	record *store.Record // nil: nothing to archive
	rules  *robots.Rules // of a robots.txt
	trip   time.Duration // to the server and back; 0: not known
}

func (r *result) release() {
	if r.record != nil {
		r.record.Release()
		r.record = nil
	}
}

// read makes facts and a record of an answer.
func (t *tool) read(o crawl.Fetch, a *fetch.Answer, done crawl.Done) (*result, error) {
	t.reader.Config = t.n.extract() // the program may be another one now
	f := t.n.facts(o)
	f.Outcome, f.Status, f.Bytes, f.Wire, f.Elapsed = done.Outcome, a.Status, a.BodyWire, a.Wire, a.Elapsed
	f.At, f.Lent = a.At.UnixNano(), a.Lent
	f.Digest, f.Digested = a.Digest, a.PayloadSize > 0 && a.Digest != [20]byte{}
	if a.Addr.IsValid() {
		f.Server = a.Addr.String()
	}
	if t.reader.Read(f, extract.Answer{Head: a.Head, Header: a.Header, Body: a}) {
		t.n.log.event("links-cut", map[string]any{"url": f.URL.String(), "kept": len(f.Links)})
	}
	if o.Robots && done.Rules != nil {
		t.reader.Robots(f, done.Rules)
	}
	r := &result{id: o.ID, facts: f, rules: done.Rules}
	if !f.Outcome.Row().Answer || len(a.Head) == 0 || !o.Robots && !f.Outcome.Final(f.Attempt) {
		return r, nil
	}
	if t.n.cfg.Archive == store.None && !f.Digested {
		return r, nil
	}
	x := &store.Exchange{
		URL: o.URL.String(), At: a.At, Addr: f.Server, Request: a.Request,
		HeadLen: len(a.Head), Status: a.Status, Mime: f.Mime, PayloadDigest: a.Digest, PayloadSize: a.PayloadSize,
		Truncated: a.Truncated,
	}
	var inMemory bool
	if x.Bytes, inMemory = a.Bytes(); !inMemory {
		block := a.Block()
		x.Response, x.Size = block, block.Size()
	}
	if f.Outcome != page.OK && f.Outcome != page.Redirected && f.Outcome != page.ClientError {
		x.Meta = [][2]string{{"outcome", f.Outcome.String()}, {"reason", a.Err}}
	}
	if a.Lender != "" {
		x.Meta = [][2]string{{"fetched-by", a.Lender}}
	}
	var err error
	r.record, err = t.encoder.Encode(x)
	return r, err
}

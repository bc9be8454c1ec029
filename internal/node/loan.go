package node

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/overlay"
	"weir/page"
)

// A page that a node is to have though another one has fetched it, since a program
// has come to ask for it or since its partition has moved, it takes from that node's
// archive, as crawls of one machine do (lend.go): its server is not asked again.
// Nodes that have it no more, or have had it for longer than who asks for it allows, or
// are away, lend nothing, and the page is fetched.
//
// A question is the URL and, behind a space, when the page must have been fetched, Unix
// nanoseconds, if that is not all the same. The answer is empty, or how the page was had, as JSON after
// its length, and what the server said, byte for byte.

const (
	loanTime = 10 * time.Second // for all nodes that are asked
	maxLoan  = 6 << 20          // bytes of an answer: larger pages are fetched again
	maxAsked = 16               // that are asked for at once: lenders have others to serve, and answers may be large
)

// Lend answers a node that asks for a page, from the store of this one's crawl.
func Lend(st *store.Store, scheme overlay.Scheme, question []byte) ([]byte, error) {
	text, after, aged := strings.Cut(string(question), " ")
	u, err := page.Parse(text)
	if err != nil {
		return nil, err
	}
	since := time.Time{}
	if aged {
		at, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("how old a page may be: %w", err)
		}
		since = time.Unix(0, at)
	}
	view, err := crawl.NewView(st)
	if err != nil {
		return nil, err
	}
	var info *crawl.PageInfo
	if scheme.Leased() {
		info, err = view.PageIn(u, overlay.NewKeys(scheme, overlay.Parts).Home(u))
	} else {
		info, err = view.Page(u)
	}
	if err != nil {
		return nil, err
	}
	e, p, err := record(st, info, since)
	if err != nil || e == nil {
		return nil, err
	}
	defer e.Close()
	how, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBuffer(append(binary.AppendUvarint(nil, uint64(len(how))), how...))
	err = writeAnswer(&bounder{b, maxLoan}, e)
	if errors.Is(err, errLarge) {
		return nil, nil
	}
	return b.Bytes(), err
}

var errLarge = errors.New("it is too large to be lent")

// bounder writes so many bytes at most.
type bounder struct {
	to   *bytes.Buffer
	left int
}

// Write implements io.Writer.
func (b *bounder) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errLarge
	}
	return b.to.Write(p)
}

// spare says whether a server need not be asked for a page: it is over, or another
// node has the answer.
func (p *peer) spare(ctx context.Context, o crawl.Fetch) (a *fetch.Answer, over bool) {
	if p == nil || o.Robots || !p.doubtful.Load() {
		return nil, false
	}
	w, err := crawl.ReadWaits(p.n.store, page.Key{Site: o.Site, Hash: o.Entry.Hash})
	if err != nil {
		p.n.fail(err)
	}
	if w.Had && p.cfg.Borrow != nil {
		a = p.borrow(ctx, o, w.Since)
	}
	return a, !w.Still
}

// borrow returns the answer to an order, if another node has one that is not too old;
// nil: fetch it.
func (p *peer) borrow(ctx context.Context, o crawl.Fetch, since int64) *fetch.Answer {
	select {
	case p.loans <- struct{}{}:
		defer func() { <-p.loans }()
	case <-ctx.Done():
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, loanTime)
	defer cancel()
	question := []byte(o.URL.String())
	if since > 0 {
		question = strconv.AppendInt(append(question, ' '), since, 10)
	}
	answer, from := p.cfg.Borrow(ctx, question)
	size, k := binary.Uvarint(answer)
	var how past
	if k <= 0 || size > uint64(len(answer)-k) || json.Unmarshal(answer[k:k+int(size)], &how) != nil {
		return nil
	}
	addr, _ := netip.ParseAddr(how.Addr)
	a := p.n.client.Load().Replay(ctx, o.URL, io.NopCloser(bytes.NewReader(answer[k+int(size):])), fetch.Past{At: time.Unix(0, how.At), Elapsed: how.Elapsed, Addr: addr})
	if !lendable(a.Outcome) || a.Truncated != "" {
		a.Release()
		return nil
	}
	a.Lender, a.Lent = "node "+from, true
	p.borrowed.Add(1)
	return a
}

// count is how many pages other nodes had.
func (p *peer) count() int64 {
	if p == nil {
		return 0
	}
	return p.borrowed.Load()
}

package node

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"weir/crawl"
	"weir/internal/fetch"
	"weir/internal/store"
	"weir/page"
)

// Crawls of one machine that want the same pages can fetch them once: each names the
// folders of the others. Before it asks a server for a page it asks them, and takes
// what came over the wire from whoever has it in its archive, if it is young enough
// and both ask servers in the same name. The page is then read, judged and archived
// as if the server had just sent it, with the time when it did. Robots.txt is never
// lent: what it allows depends on who asks.
//
// A crawl that runs is asked at the socket in its folder; of one that does not, the
// folder is read (shelf.go).
//
//	POST /lend  loan -> 200 and the answer of the server, byte for byte; 404: fetch it
//
// A page that is under way somewhere is waited for. Of two crawls that want it at the
// same time, the one with the lower number goes first: a crawl notes what it wants
// before it asks, and while it only asks it lets a lower one pass, and asks again.

// Lending says with whom a crawl shares pages.
type Lending struct {
	With   []string      // folders of other crawls, whether they run or not
	Within time.Duration // pages that are older are fetched
}

const (
	lendWait  = time.Minute      // for a page that is under way elsewhere
	lendTime  = 3 * time.Minute  // for that and the page itself
	lendPause = 10 * time.Second // for a crawl that starts or ends
	lendAgain = 20 * time.Millisecond
	maxLoans  = 256 // that are being answered
	loanField = "Weir-Loan"
)

// lender is where a node lends pages and borrows them. Safe for concurrent use; nil
// does neither.
type lender struct {
	n        *node
	cfg      Lending
	id       uint64
	name     string // in which servers are asked
	borrowed atomic.Int64
	shelves  shelves

	mu      sync.Mutex
	wanted  map[string]*want     // by URL: from before others are asked until it is durable
	ignored map[string]time.Time // folders that are not waited for, until when
	loans   int
	closed  bool
	serving sync.WaitGroup
}

// want is a page that this crawl is about to have.
type want struct {
	fetching bool // nobody else has it
	passed   bool // somebody was let pass since others were asked last
	over     chan struct{}
}

// loan asks for a page.
type loan struct {
	URL    string        `json:"url"`
	Name   string        `json:"name"` // in which servers are asked
	Within time.Duration `json:"within"`
	ID     uint64        `json:"id"` // of who asks
}

// past is how a page was had, in loanField.
type past struct {
	At      int64         `json:"at"`
	Elapsed time.Duration `json:"elapsed"`
	Addr    string        `json:"addr,omitempty"`
}

func newLender(n *node, cfg Lending) (*lender, error) {
	if len(cfg.With) == 0 {
		return nil, nil
	}
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("draw a number for sharing pages: %w", err)
	}
	l := &lender{n: n, cfg: cfg, id: binary.BigEndian.Uint64(b[:]), name: n.cfg.Fetch.Name(), wanted: map[string]*want{}, ignored: map[string]time.Time{}}
	had, err := crawl.ReadLends(n.store)
	if err != nil || had == l.name {
		return l, err
	}
	g := n.store.Begin()
	crawl.WriteLends(g, l.name)
	return l, g.Commit()
}

// borrow returns the answer to an order, if another crawl has it; nil: fetch it.
func (l *lender) borrow(ctx context.Context, o crawl.Fetch) *fetch.Answer {
	if l == nil || o.Robots {
		return nil
	}
	w := l.enter(o.URL.String())
	for ctx.Err() == nil {
		for _, dir := range l.cfg.With {
			if a := l.ask(ctx, dir, o.URL); a != nil {
				l.borrowed.Add(1)
				return a
			}
		}
		if l.proceed(w) {
			break
		}
	}
	return nil
}

// count is how many pages others had.
func (l *lender) count() int64 {
	if l == nil {
		return 0
	}
	return l.borrowed.Load()
}

// enter notes that this crawl wants a page.
func (l *lender) enter(url string) *want {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.wanted[url]
	if w == nil {
		w = &want{over: make(chan struct{})}
		l.wanted[url] = w
	}
	w.fetching, w.passed = false, false
	return w
}

// proceed says whether nobody was let pass, so that this crawl fetches the page.
func (l *lender) proceed(w *want) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.fetching, w.passed = !w.passed, false
	return w.fetching
}

// land says that pages are durable, or will not be had.
func (l *lender) land(urls []page.URL) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range urls {
		if w := l.wanted[u.String()]; w != nil {
			close(w.over)
			delete(l.wanted, u.String())
		}
	}
}

// close ends all lending.
func (l *lender) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	for url, w := range l.wanted {
		close(w.over)
		delete(l.wanted, url)
	}
	l.mu.Unlock()
	l.serving.Wait()
	l.shelves.close()
}

// ask asks one crawl for a page; nil: it does not have it.
func (l *lender) ask(ctx context.Context, dir string, u page.URL) *fetch.Answer {
	ctx, cancel := context.WithTimeout(ctx, lendTime)
	defer cancel()
	from, p := l.reach(ctx, dir, u)
	if from == nil {
		return nil
	}
	addr, _ := netip.ParseAddr(p.Addr) // zero: it came through a proxy
	a := l.n.client.Load().Replay(ctx, u, from, fetch.Past{At: time.Unix(0, p.At), Elapsed: p.Elapsed, Addr: addr})
	from.Close()
	if !lendable(a.Outcome) || a.Truncated != "" {
		a.Release()
		return nil
	}
	a.Lender = "the crawl in " + dir
	return a
}

// reach returns what the page's server said to a crawl; nil: that is not to be had.
// A crawl that is just starting or ending can neither be asked nor read, and is waited
// for.
func (l *lender) reach(ctx context.Context, dir string, u page.URL) (io.ReadCloser, past) {
	for until := time.Now().Add(lendPause); ; {
		from, p, err := l.call(ctx, dir, u)
		if errors.Is(err, ErrNotRunning) {
			from, p, err = l.shelves.look(dir, u, l.name, l.cfg.Within)
		}
		if from != nil || !errors.Is(err, store.ErrInUse) || !l.patient(dir, until) {
			return from, p
		}
		select {
		case <-time.After(lendAgain):
		case <-ctx.Done():
			return nil, p
		}
	}
}

// patient says whether to wait for a crawl that can neither be asked nor read, until
// a time at most. One that was waited for in vain is not for a while.
func (l *lender) patient(dir string, until time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Before(l.ignored[dir]) {
		return false
	}
	if now.Before(until) {
		return true
	}
	l.ignored[dir] = now.Add(lendTime)
	return false
}

// call asks a crawl that runs. The error is ErrNotRunning if none does, and
// store.ErrInUse if it lends nothing now.
func (l *lender) call(ctx context.Context, dir string, u page.URL) (from io.ReadCloser, p past, err error) {
	other, err := caller(dir)
	if err != nil {
		return nil, p, err
	}
	question, err := json.Marshal(loan{u.String(), l.name, l.cfg.Within, l.id})
	if err != nil {
		return nil, p, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://weir/lend", bytes.NewReader(question))
	if err != nil {
		return nil, p, err
	}
	resp, err := other.Do(req)
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, ErrNotRunning):
		return nil, p, store.ErrInUse // it has ended while it was asked
	case err != nil:
		return nil, p, err
	case resp.StatusCode == http.StatusServiceUnavailable:
		err = store.ErrInUse
	case resp.StatusCode == http.StatusOK && json.Unmarshal([]byte(resp.Header.Get(loanField)), &p) == nil:
		return resp.Body, p, nil
	}
	resp.Body.Close()
	return nil, p, err
}

// lendable says that an outcome is the page's own, and not of how it was asked for.
func lendable(o page.Outcome) bool {
	return o == page.OK || o == page.Redirected || o == page.ClientError
}

// lend answers a loan.
func (l *lender) lend(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if !l.open() {
		refuse(w, http.StatusServiceUnavailable, "the crawl is ending, or lends too many pages")
		return
	}
	defer l.leave()
	var q loan
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxSteer)).Decode(&q); err != nil {
		refuse(w, http.StatusBadRequest, "the request cannot be read: "+err.Error())
		return
	}
	u, err := page.Parse(q.URL)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	timer := time.NewTimer(lendWait)
	defer timer.Stop()
	for {
		over, pass := l.underWay(u, q.ID)
		if pass {
			refuse(w, http.StatusNotFound, "it is yours to fetch")
			return
		}
		if over == nil {
			break
		}
		select {
		case <-over:
		case <-timer.C:
			refuse(w, http.StatusNotFound, "it takes too long")
			return
		case <-r.Context().Done():
			return
		case <-ctx.Done():
			refuse(w, http.StatusServiceUnavailable, "the crawl is ending")
			return
		}
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(lendTime)) // without it the server's own holds
	if had, err := l.give(w, u, &q); err != nil {
		l.n.log.event("lend-failed", map[string]any{"url": u.String(), "why": err.Error()})
	} else if !had {
		refuse(w, http.StatusNotFound, "not had")
	}
}

// underWay returns what ends when the page does that is under way here, nil if it is
// not; pass says that who asks goes first.
func (l *lender) underWay(u page.URL, id uint64) (over <-chan struct{}, pass bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.wanted[u.String()]
	switch {
	case w == nil:
		return nil, false
	case !w.fetching && id < l.id:
		w.passed = true
		return nil, true
	}
	return w.over, false
}

func (l *lender) open() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.loans == maxLoans {
		return false
	}
	l.loans++
	l.serving.Add(1)
	return true
}

func (l *lender) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loans--
	l.serving.Done()
}

// give writes the answer that this crawl has archived, if it has one that will do.
func (l *lender) give(w http.ResponseWriter, u page.URL, q *loan) (had bool, err error) {
	if q.Name != l.name {
		return false, nil
	}
	e, p, err := archived(l.n.store, u, q.Within)
	if err != nil || e == nil {
		return false, err
	}
	defer e.Close()
	how, err := json.Marshal(p)
	if err != nil {
		return false, err
	}
	w.Header().Set(loanField, string(how))
	w.Header().Set("Content-Type", "application/http;msgtype=response")
	return true, writeAnswer(w, e)
}

// archived opens the record of a page in a crawl's archive, nil if there is none
// that could be lent.
func archived(st *store.Store, u page.URL, within time.Duration) (*store.Entry, past, error) {
	view, err := crawl.NewView(st)
	if err != nil {
		return nil, past{}, err
	}
	p, err := view.Page(u)
	if err != nil {
		return nil, past{}, err
	}
	return record(st, p, time.Now().Add(-within))
}

// record opens that of a page, nil if there is none that could be lent: what was fetched
// before since is too old.
func record(st *store.Store, p *crawl.PageInfo, since time.Time) (*store.Entry, past, error) {
	if p == nil || p.State != "ended" || p.Record.File == 0 || !lendable(p.Outcome) || p.At.Before(since) {
		return nil, past{}, nil
	}
	e, err := st.ReadRecord(store.Place(p.Record))
	if err == nil && (e.Truncated != "" || e.Head == nil) {
		return nil, past{}, e.Close()
	}
	return e, past{p.At.UnixNano(), p.Elapsed, p.Server}, err
}

// writeAnswer writes an answer as the server sent it. Of one whose payload had come
// before, only that is archived: it is framed as its header says.
func writeAnswer(w io.Writer, e *store.Entry) error {
	if _, err := w.Write(e.Head); err != nil {
		return err
	}
	if e.Type != "revisit" {
		_, err := io.Copy(w, e.Raw())
		return err
	}
	body, err := e.Body()
	if err != nil {
		return err
	}
	if !chunked(e.Head) {
		_, err := io.Copy(w, body)
		return err
	}
	chunks := httputil.NewChunkedWriter(w)
	if _, err := io.Copy(chunks, body); err != nil {
		return err
	}
	if err := chunks.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\r\n")
	return err
}

// chunked says that a header announces chunks.
func chunked(head []byte) bool {
	for line := range strings.SplitSeq(string(head), "\n") {
		name, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(name), "Transfer-Encoding") && strings.HasSuffix(strings.ToLower(strings.TrimSpace(value)), "chunked") {
			return true
		}
	}
	return false
}

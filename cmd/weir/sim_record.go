package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"weir/crawl"
	"weir/frontier"
	"weir/internal/extract"
	"weir/page"
	"weir/sim/web"
)

// simRecordCmd makes a web of a crawl.
type simRecordCmd struct {
	Dir    string `placeholder:"DIR" default:"weir-crawl" help:"Folder of the crawl. Default: weir-crawl."`
	Output string `short:"o" placeholder:"FILE" help:"File to write. Default: the folder's name with .weirweb."`
}

// Help says what is recorded.
func (c *simRecordCmd) Help() string {
	return `What is recorded: every page that was asked for, with the bytes of its body, how it ended, and its links, read again from
the archive; every site with its crawl-delay, and its speed and latency as they were seen; the seeds. Pages that were never
asked for (denied, parked, of dead hosts, queued still) are left out. Time to connect is not in a crawl's records; it is
taken to be nothing. A crawl that its own limit slowed down makes servers look slow.

Examples:
  weir sim record --dir crawl -o crawl.weirweb
  weir sim compare --web crawl.weirweb --conns 8,64        what if I had used another order, or more connections?
  weir sim run --web crawl.weirweb --line 500KB/s          or a slower line?`
}

// Run implements the verb.
func (c *simRecordCmd) Run(e *env) error {
	f, err := openFolder(c.Dir)
	if err != nil {
		return err
	}
	defer f.close()
	archive, err := f.archive(page.Want{})
	if err != nil {
		return err
	}
	if !archive.Has(page.Want{}) {
		return failure(errors.New("this crawl kept no archive (--warc none), so its links cannot be read again"),
			"a crawl with --warc gzip, the default, keeps them")
	}
	ctx, stop := signal.NotifyContext(e.ctx, os.Interrupt)
	defer stop()
	w, err := record(ctx, f, archive)
	switch {
	case errors.Is(err, context.Canceled):
		return quiet(exitInterrupted)
	case errors.Is(err, web.ErrEmpty):
		return failure(fmt.Errorf("the crawl in %s has fetched nothing yet", c.Dir), "weir crawl"+dirFlag(c.Dir)+" goes on with it")
	case err != nil:
		return failure(fmt.Errorf("record %s: %w", c.Dir, err), "the links are read from the archive, which may be damaged; weir export pages"+dirFlag(c.Dir)+" needs no archive")
	}
	w.Name = filepath.Base(filepath.Clean(c.Dir))
	name := c.Output
	if name == "" {
		name = w.Name + ".weirweb"
	}
	out, err := e.create("-o", name)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(out)
	if err := out.finish(errors.Join(w.Write(buf), buf.Flush())); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	fmt.Fprintf(e.err, "%s: %s on %s, %s, %s\n", name, many(int64(w.Pages()), "page"), many(int64(len(w.Sites)), "site"), many(int64(w.Links()), "link"), bytesOf(w.Bytes()))
	if n := f.queued(); n > 0 {
		fmt.Fprintf(e.err, "weir: warning: the crawl is not finished: %s wait, and are not in the web\n", many(n, "page"))
	}
	fmt.Fprintf(e.err, "to crawl it as it was: weir sim run --web %s%s\n", quoted(name), f.asRun.simFlags(w.Pages()))
	return nil
}

// queued is how many pages wait.
func (f *folder) queued() int64 {
	var n int64
	f.Sites(func(s *crawl.SiteInfo) bool { // it was read before
		n += s.Queued
		return true
	})
	return n
}

// simFlags are the flags of weir sim run for a crawl with these settings, of which
// so many pages were recorded.
func (s *settings) simFlags(pages int) string {
	flags := fmt.Sprintf(" --order %s --conns %d --per-conn %s --wait %s", s.Order, s.Conns, s.PerConn, s.Wait)
	if s.Limit > 0 {
		flags += fmt.Sprintf(" --limit %s --control %s", s.Limit, s.Control)
	}
	if order, err := frontier.Order(s.Order); err == nil && order.Traits().Ranked || s.StopGain > 0 {
		flags += fmt.Sprintf(" --batch %d", min(int(s.Batch), pages))
	}
	if s.StopGain > 0 {
		flags += fmt.Sprintf(" --stop-gain %v", s.StopGain)
	}
	if s.IgnoreRobots {
		flags += " --no-robots"
	}
	return flags
}

// recorder makes a web of a crawl's pages.
type recorder struct {
	f    *folder
	web  web.Web
	page map[page.Key]uint32    // numbers of pages
	site map[string]page.SiteID // by name
	more [][]uint32             // links, by page
	met  []uint32               // by page: the last one, plus one, with a link to it
	pace []pace                 // by site
}

// record reads a crawl.
func record(ctx context.Context, f *folder, archive *extract.Archive) (*web.Web, error) {
	r := &recorder{f: f, page: map[page.Key]uint32{}, site: map[string]page.SiteID{}}
	delay := map[string]float64{}
	err := f.Sites(func(s *crawl.SiteInfo) bool {
		r.site[s.Name] = s.ID
		delay[s.Name] = s.Delay.Seconds()
		return ctx.Err() == nil
	})
	if err != nil {
		return nil, err
	}
	parents, err := r.pages(ctx)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	r.more, r.met = make([][]uint32, r.web.Pages()), make([]uint32, r.web.Pages())
	for facts, err := range archive.Facts(ctx, f.Pages) {
		if err != nil {
			return nil, err
		}
		if from, ok := r.page[facts.Key]; ok {
			r.links(from, facts)
		}
	}
	r.roots(parents)
	r.finish(delay)
	return &r.web, r.web.Check()
}

// origin of a page: what brought it into the crawl.
type parent struct {
	seed bool
	key  page.Key
}

// pages takes in every page that was asked for, a site's together, its home
// page first.
func (r *recorder) pages(ctx context.Context) ([]parent, error) {
	w := &r.web
	var parents []parent
	var keys []page.Key
	var last page.SiteID
	err := r.f.Pages(func(p *crawl.PageInfo) bool {
		if p.Outcome.Row().Pause == page.NoPause || p.Outcome > web.MaxEnd {
			return ctx.Err() == nil // nothing was sent
		}
		n := uint32(w.Pages())
		if len(w.Sites) == 0 || p.Key.Site != last {
			last = p.Key.Site
			w.Sites = append(w.Sites, web.Site{Name: p.URL.Site()})
			w.First = append(w.First, n)
			r.pace = append(r.pace, pace{})
		}
		s := len(w.Sites) - 1
		w.SiteOf = append(w.SiteOf, uint32(s))
		w.Size = append(w.Size, uint32(min(p.Bytes, 1<<32-1)))
		w.End = append(w.End, uint8(p.Outcome))
		w.Path = append(w.Path, strings.Clone(p.URL.Rest()))
		keys = append(keys, p.Key)
		parents = append(parents, parent{p.By == crawl.BySeed, p.Parent})
		if p.Outcome.Row().Answer {
			r.pace[s].add(float64(p.Bytes), p.Elapsed.Seconds())
		}
		if first := w.First[s]; p.URL.Rest() == "/" && n != first {
			w.Size[n], w.Size[first] = w.Size[first], w.Size[n]
			w.End[n], w.End[first] = w.End[first], w.End[n]
			w.Path[n], w.Path[first] = w.Path[first], w.Path[n]
			keys[n], keys[first] = keys[first], keys[n]
			parents[n], parents[first] = parents[first], parents[n]
		}
		return ctx.Err() == nil
	})
	w.First = append(w.First, uint32(w.Pages()))
	for n, k := range keys {
		r.page[k] = uint32(n)
	}
	return parents, err
}

// links takes in those links of a page that the crawl would follow and that led
// to a page.
func (r *recorder) links(from uint32, f *page.Facts) {
	as := &r.f.asRun
	if f.NoFollow && !as.IgnoreRobots {
		return
	}
	deep := as.Depth >= 0 && int(f.Depth) >= int(as.Depth)
	for _, l := range followed(f) {
		switch {
		case l.Kind == page.Requisite && !as.Requisites,
			l.Kind == page.Nav && deep,
			l.NoFollow && !as.IgnoreRobots && l.URL.Host() != f.URL.Host():
			continue
		}
		site, ok := r.site[l.URL.Site()]
		if !ok {
			continue
		}
		if to, ok := r.page[page.Key{Site: site, Hash: l.Hash}]; ok && r.new(from, to) {
			r.more[from] = append(r.more[from], to)
		}
	}
}

// new says that page from, whose links come in a row, has not linked there yet.
func (r *recorder) new(from, to uint32) bool {
	old := r.met[to] == from+1
	r.met[to] = from + 1
	return !old
}

// roots makes sure that every page can be reached: by a link from the page that
// brought it, or as a seed.
func (r *recorder) roots(parents []parent) {
	for p, by := range parents {
		from, ok := r.page[by.key]
		end := page.Outcome(r.web.End[from])
		switch {
		case by.seed || !ok || !end.Row().Kept && end != page.Redirected:
			r.web.Seeds = append(r.web.Seeds, uint32(p))
		default: // perhaps once more: finish takes it out
			r.more[from] = append(r.more[from], uint32(p))
		}
	}
}

// finish lays the links in a row and fills in the sites.
func (r *recorder) finish(delay map[string]float64) {
	w := &r.web
	w.Off = make([]uint32, 1, w.Pages()+1)
	clear(r.met)
	for p := range r.more {
		for _, to := range r.more[p] {
			if r.new(uint32(p), to) {
				w.Adj = append(w.Adj, to)
			}
		}
		r.more[p] = nil
		w.Off = append(w.Off, uint32(len(w.Adj)))
	}
	var all pace
	for _, p := range r.pace {
		all.merge(p)
	}
	for i := range w.Sites {
		s := &w.Sites[i]
		s.Delay = min(delay[s.Name], web.MaxTime)
		p := r.pace[i]
		if p.n == 0 {
			p = all // it never answered
		}
		latency, speed := p.fit()
		s.Again, s.Speed = min(latency, web.MaxTime), max(speed, web.MinSpeed)
		s.Latency = s.Again
	}
}

// pace is how long a site's answers took, by their bytes: sums for a straight
// line through them.
type pace struct{ n, x, y, xx, xy float64 }

func (p *pace) add(bytes, seconds float64) {
	p.merge(pace{1, bytes, seconds, bytes * bytes, bytes * seconds})
}

func (p *pace) merge(q pace) {
	p.n, p.x, p.y, p.xx, p.xy = p.n+q.n, p.x+q.x, p.y+q.y, p.xx+q.xx, p.xy+q.xy
}

// maxSpeed stands for a server whose pages take as long whatever their size.
const maxSpeed = 1e9

// fit returns the seconds that every answer takes and the bytes a second that it
// flows at: the line of least squares, or the nearest one that makes sense. The
// sum of all times stays what it was, up to maxSpeed.
func (p pace) fit() (latency, speed float64) {
	if p.n == 0 || p.y <= 0 {
		return 0, maxSpeed
	}
	each := 0.0 // seconds a byte
	if d := p.n*p.xx - p.x*p.x; d > 0 {
		each = (p.n*p.xy - p.x*p.y) / d
	}
	if each < 1/maxSpeed {
		each = 1 / maxSpeed
	}
	latency = (p.y - each*p.x) / p.n
	if latency < 0 {
		return 0, min(p.x/p.y, maxSpeed)
	}
	return latency, 1 / each
}

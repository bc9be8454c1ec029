package sim

import (
	"fmt"
	"io"
	"math"
	"time"

	"weir/crawl"
)

// Config says how a simulated crawl is made. Zero values are the defaults of a
// live crawl, but for what is told here.
type Config struct {
	Name    string        // for tables and charts
	Order   string        // a frontier.Ranking; default length
	Conns   int           // connections at a time (r in Castillo, section 6.2.3); default 64
	PerConn int           // pages on a connection (c, section 6.2.2); default 1, with Auto 100
	Auto    bool          // let the pages of a connection follow the backlog, up to PerConn
	Wait    time.Duration // between two connections to a host (w, section 6.2.1); default 15 s as in the paper, negative: none
	Hold    time.Duration // the longest pause that a connection is held open for; default 15 s, as servers did (section 6.2.2). Live: frontier.Holdable
	Robots  bool          // ask every site for its robots.txt first. The paper's simulator did not
	Commit  time.Duration // from an answer to its being durable; default a fifteenth of Wait, at least the 50 ms of a live crawl

	Limit     int64  // the crawl's own limit, bytes a second; 0 = none. Admission works only under one
	Control   string // weir, paper or reactive; default weir
	Lookahead int    // how far down the queue is searched for what may start; default 64

	Batch    int64         // pages in a batch, or between two rankings (K, section 6.3); default 10,000
	Busy     float64       // a batch is cut short when less than this share of the connections is busy (section 6.4); default 0.1
	Ranking  time.Duration // that it takes to rank the pages; default 2 us for each of the web's. Crawling goes on meanwhile
	StopGain float64       // end when the last Batch pages were worth less than this share of the first; 0 = never

	Demands  []crawl.Demand // sites that shall be done by a time; see Epoch
	Planning time.Duration  // that a plan of them takes; default 10 ms

	MaxPages int64         // end after so many; 0 = all that can be reached
	MaxTime  time.Duration // end after so much virtual time; 0 = never
	Samples  int           // points of the series; default 400

	Fetched func(page uint32) // called for every page fetched, in their order; may be nil
	Trace   io.Writer         // takes every event, for crawl.Replay; nil = nobody wants them

	Ranks []float32 // of every page, for what Result says about the ranks of what was fetched; nil = unknown
}

// defaults fills in what was left out, and refuses what makes no sense.
func (c *Config) defaults() error {
	if c.Order == "" {
		c.Order = "length"
	}
	if c.Conns < 0 || c.Conns > maxConns {
		return fmt.Errorf("%d connections: choose between 1 and %d", c.Conns, maxConns)
	}
	if c.PerConn < 0 || c.PerConn > math.MaxInt32 {
		return fmt.Errorf("%d pages on a connection: choose 1 or more", c.PerConn)
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"a commit", c.Commit}, {"the longest time", c.MaxTime}, {"a ranking", c.Ranking}, {"a pause", c.Hold}, {"a plan", c.Planning}} {
		if d.d < 0 {
			return fmt.Errorf("%s of %v: times are not negative", d.name, d.d)
		}
	}
	if c.Limit < 0 || c.MaxPages < 0 || c.Samples < 0 {
		return fmt.Errorf("a limit of %d bytes a second, %d pages, %d samples: none may be negative", c.Limit, c.MaxPages, c.Samples)
	}
	if c.Batch < 0 || c.Busy < 0 || c.Busy > 1 || c.StopGain < 0 || c.StopGain > 1 {
		return fmt.Errorf("batches of %d pages, cut at %v, and an end at %v: batches are not negative, and the others are shares between 0 and 1", c.Batch, c.Busy, c.StopGain)
	}
	if c.Planning == 0 {
		c.Planning = planning
	}
	if c.Hold == 0 {
		c.Hold = 15 * time.Second
	}
	if c.Auto && c.PerConn == 0 {
		c.PerConn = 100
	}
	for _, d := range []struct {
		at  *int
		std int
	}{{&c.Conns, 64}, {&c.PerConn, 1}, {&c.Samples, 400}} {
		if *d.at == 0 {
			*d.at = d.std
		}
	}
	switch {
	case c.Wait == 0:
		c.Wait = 15 * time.Second
	case c.Wait < 0:
		c.Wait = 0
	}
	if c.Commit == 0 {
		c.Commit = max(c.Wait/15, 50*time.Millisecond)
	}
	return nil
}

const maxConns = 1 << 20

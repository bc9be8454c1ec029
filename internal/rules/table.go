package rules

import (
	"slices"
	"strings"
)

// A room is one folder of the house: what it may import of ours, and whether
// it belongs to the deterministic core.
type room struct {
	dir     string
	core    bool
	imports []string
	why     string // why nothing else, for the message
}

var (
	vocabulary = []string{"page"}
	ideas      = []string{"robots", "frontier", "bandwidth", "plan", "query", "query/flow", "overlay"}
	machines   = slices.Concat(vocabulary, ideas, []string{"crawl"})
	organs     = []string{"internal/fetch", "internal/parse", "internal/store", "internal/cluster"}
)

const (
	whyPage  = "page is the vocabulary that everything imports, so it imports nothing of ours"
	whyIdea  = "the ideas know the vocabulary and not one another; crawl joins them"
	whyCrawl = "crawl joins the ideas and is driven from outside"
	whyOrgan = "fetch, parse, store and cluster do as they are told and know only page and robots (and pack, which knows nobody); node puts them to work"
	whyAlone = "it stands outside what it tests"
)

// table is the house. Dependencies point one way:
//
//	page <- { robots frontier bandwidth plan query overlay } <- crawl <- { sim, internal/node } <- cmd/weir
//	rank <- { sim, internal/node };  sim/{web link chart agenda} <- sim, sim/paper <- cmd/weir;  plan <- sim/paper
//	page, robots <- internal/{fetch parse store cluster} <- internal/extract <- internal/node <- internal/{survey web}
//
// Besides, frontier may import robots: it keeps each site's rules and asks them
// when a page's turn comes. Rooms that are not built yet are listed, so that they come where they belong.
var table = []room{
	{dir: "page", core: true, why: whyPage},
	{dir: "robots", core: true, imports: vocabulary, why: whyIdea},
	{dir: "frontier", core: true, imports: []string{"page", "robots"}, why: whyIdea},
	{dir: "bandwidth", core: true, imports: vocabulary, why: whyIdea},
	{dir: "plan", core: true, imports: vocabulary, why: whyIdea},
	{dir: "query", core: true, imports: vocabulary, why: whyIdea},
	{dir: "query/flow", core: true, imports: []string{"page", "query"}, why: "flow runs what query has read"},
	{dir: "query/draw", core: true, imports: []string{"query", "query/flow"}, why: "it draws plans and knows nothing of crawls"},
	{dir: "overlay", core: true, imports: vocabulary, why: whyIdea},
	{dir: "crawl", core: true, imports: slices.Concat(vocabulary, ideas), why: whyCrawl},
	{dir: "rank", core: true, why: "PageRank is arithmetic on numbered pages; whoever numbers them calls it"},
	{dir: "sim", imports: slices.Concat(machines, []string{"rank", "sim/web", "sim/link", "sim/agenda", "sim/mesh"}), why: "sim drives crawl on a virtual clock, as node does on the real one: neither knows the other"},
	{dir: "sim/web", imports: []string{"rank"}, why: "a web is numbers; who crawls it is not its business"},
	{dir: "sim/link", why: "a link carries bytes and knows nobody"},
	{dir: "sim/chart", why: "a chart draws numbers, whatever they mean"},
	{dir: "sim/agenda", imports: vocabulary, why: "an agenda orders moments; what happens at them is not its business"},
	{dir: "sim/mesh", imports: []string{"page", "overlay", "sim/agenda"}, why: "mesh runs the nodes of a cluster, and knows nothing of how one of them crawls"},
	{dir: "sim/paper", imports: []string{"sim", "rank", "sim/web", "sim/link", "sim/chart", "sim/mesh", "bandwidth", "frontier", "crawl", "plan", "overlay"}, why: "the papers' experiments use the simulator and the planner as a user would"},

	{dir: "internal/pack", why: "pack turns bytes into fewer bytes and knows nothing of pages"},
	{dir: "internal/fetch", imports: []string{"page", "robots", "bandwidth", "internal/pack"}, why: whyOrgan + "; fetch keeps bandwidth's account of the wire"},
	{dir: "internal/parse", imports: []string{"page", "robots"}, why: whyOrgan},
	{dir: "internal/store", imports: []string{"page", "robots", "internal/pack"}, why: whyOrgan},
	{dir: "internal/store/storetest", imports: []string{"page", "robots", "internal/store"}, why: whyAlone},
	{dir: "internal/cluster", imports: []string{"page", "overlay"}, why: "cluster carries what a Member of the overlay says, and knows nothing of crawls"},
	{dir: "internal/cluster/clustertest", imports: []string{"page", "overlay"}, why: whyAlone},
	{dir: "internal/extract", imports: []string{"page", "robots", "crawl", "internal/fetch", "internal/parse", "internal/store"}, why: "extract reads answers, from the wire or the archive of a crawl, and leaves what becomes of them to others"},
	{dir: "internal/ask", imports: slices.Concat(machines, []string{"internal/extract", "internal/parse", "internal/program", "internal/store"}), why: "it reads what a crawl has left, whether node still runs or not"},
	{dir: "internal/search", imports: []string{"page", "internal/parse", "internal/store"}, why: "an index is made of what pages say and where they are; who crawls them, and who asks, is not its business"},
	{dir: "internal/node", imports: slices.Concat(machines, []string{"rank"}, organs, []string{"internal/ask", "internal/extract", "internal/program", "internal/search"}), why: "node drives crawl on the real clock, as sim does on a virtual one: neither knows the other, nor who shows them"},
	{dir: "internal/program", imports: []string{"query", "query/flow"}, why: "it keeps what programs are made from, whoever runs them"},
	{dir: "internal/survey", imports: slices.Concat(machines, []string{"internal/fetch", "internal/parse", "internal/store", "internal/node"}), why: "a survey is a small crawl and the reading of one: it uses node as the command line does, and nobody but that uses it"},
	{dir: "internal/web", imports: []string{"page", "internal/node"}, why: "web shows what node tells it and sends it commands, nothing deeper"},
	{dir: "internal/solver", imports: []string{"plan"}, why: "it has LP files solved, whatever they are about; its tests are about plans"},
	{dir: "internal/cputime", why: whyAlone},
	{dir: "internal/testweb", why: whyAlone},
	{dir: "internal/sitetest", why: whyAlone},
	{dir: "internal/wirelab", why: whyAlone},
	{dir: "internal/bench", imports: []string{"sim/web", "internal/testweb", "internal/wirelab"}, why: "it measures the built binary from outside"},
	{dir: "internal/bench/colly", why: "a module of its own, so that weir does not depend on its peers"},
	{dir: "internal/chaos", imports: []string{"internal/testweb", "internal/wirelab", "overlay", "page"}, why: "it breaks what runs the built binary, and knows it from outside; whose a host will be, and what a page is called among nodes, it works out as they do"},
	{dir: "internal/rules", why: whyAlone},

	{dir: "cmd/weir", imports: slices.Concat(machines, []string{"sim", "sim/web", "sim/link", "sim/chart", "sim/paper"}, organs, []string{"query/draw", "internal/ask", "internal/program", "internal/extract", "internal/node", "internal/search", "internal/survey", "internal/web", "internal/solver", "internal/testweb"}), why: "tests and their tools stay out of the binary"},
}

// testTools may be imported by the tests of every room but the root's.
var testTools = []string{"internal/cputime", "internal/testweb", "internal/wirelab", "internal/store/storetest", "internal/cluster/clustertest"}

func find(dir string) (room, bool) {
	for _, r := range table {
		if r.dir == dir {
			return r, true
		}
	}
	return room{}, false
}

func (r room) mayTestWith(dir string) bool {
	return strings.Contains(r.dir, "/") && slices.Contains(testTools, dir)
}

// reason says what the room may import and why nothing else.
func (r room) reason() string {
	if len(r.imports) == 0 {
		return r.why
	}
	return r.why + " (it may import " + strings.Join(r.imports, ", ") + ")"
}

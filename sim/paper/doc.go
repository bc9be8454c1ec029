// Package paper repeats the experiments of the papers that weir is built on, and
// says of each number whether it came out the same.
//
// An Experiment is one table or figure. It names the crawls it needs (trials)
// and the webs, and makes of their results a Finding: tables and charts with the
// paper's numbers beside ours, targets with their verdicts, and a comment on
// what differs and why. Making the Finding is arithmetic: what the paper says
// and how a verdict is reached stand in one place and can be tested with
// results that are made up.
//
// Run plays the trials of all experiments that are asked for, each once however
// many ask for it, on as many cores as there are: a World is single-threaded,
// and any number of Worlds share a Web, which they only read. A trial that was
// not played, because Run was stopped, leaves a gap in tables and no verdict.
//
// # What scales
//
// Options.Scale makes the webs smaller. A preset keeps the share of the web that
// its largest site may hold, so with the line, the wait and the sites' speeds as
// they are, both bounds on the time of a crawl shrink with the pages: bytes over
// bandwidth, and pages of the largest site times the wait. Times are then
// in proportion to the scale, and a day of the paper lasts Scale days. The
// number of pages K between two rankings and the size of a batch shrink alike. Connections do
// not, and sites become fewer, so results that depend on how many
// connections find work (r = 256 and more) shift: those need a scale of 1.
//
// # The papers
//
// Castillo's thesis, Effective Web Crawling (2004), chapter 6: trials on webs of
// numbers.
//
// Zhu, Li, Xu and Cui, Optimal Bandwidth Allocation for Web Crawler Systems (2019):
// figures 4 to 11 are arithmetic, made by package plan whatever the scale; figures
// 2 and 3 are live crawls (Visit), which the caller makes, since a simulator
// knows no network.
//
// Loo, Cooper and Krishnamurthy, Distributed Web Crawling over DHTs (2004), section 4:
// figures 3 to 11 are crawls of clusters (team), whole from a scale of a tenth on and
// shorter, on smaller webs, below; figure 12 is arithmetic on round trips that are
// made up.
package paper

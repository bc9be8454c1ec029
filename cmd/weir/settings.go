package main

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"weir/frontier"
)

// settings are the flags of weir crawl. Each is a key of the same name in a
// config file and in a folder's crawl.yaml. The tag keep says what becomes of
// a setting when the crawl goes on later:
//
//	keep:"fixed"   it is part of what the crawl means: another value is refused
//	keep:"longer"  manners may get better, never worse
//	keep:"yes"     kept until another value is given
//	keep:"no"      of one run only, not written down
type settings struct {
	Dir    string `name:"dir" placeholder:"DIR" default:"weir-crawl" keep:"no" help:"Folder of the crawl. If it holds one already, that crawl goes on."`
	Seeds  string `name:"seeds" placeholder:"FILE" keep:"no" help:"File of URLs to start from, - for standard input: one per line, optionally a tab and a score."`
	Config string `name:"config" placeholder:"FILE" keep:"no" help:"YAML file of settings: every flag has a key of the same name. Flags win over the file."`

	Scope      string   `name:"scope" group:"scope" placeholder:"SCOPE" default:"host" keep:"fixed" help:"How far from the seeds to go: host, domain, prefix (the seed's folder) or any. Default: host."`
	Depth      depth    `name:"depth" group:"scope" placeholder:"N" default:"none" keep:"fixed" help:"Follow at most N links in a row from a seed. Default: none, no bound."`
	Match      []string `name:"match" group:"scope" sep:"none" placeholder:"RE" keep:"fixed" help:"Follow only links whose URL matches one of these regular expressions."`
	Exclude    []string `name:"exclude" group:"scope" sep:"none" placeholder:"RE" keep:"fixed" help:"Never follow links whose URL matches one of these."`
	Requisites bool     `name:"requisites" group:"scope" keep:"fixed" help:"Fetch images, scripts, style sheets and media that pages name too. Style sheets are not read: fonts and images that only they name are not found."`
	Sitemaps   bool     `name:"sitemaps" group:"scope" keep:"fixed" help:"Read the sitemaps that robots.txt names."`
	Strip      string   `name:"strip" group:"scope" placeholder:"PARAM,..." default:"default" keep:"fixed" help:"Query parameters to take out of URLs: names separated by commas, sid* for all that begin so; default stands for well-known trackers and sessions, none for nothing."`
	Trap       trap     `name:"trap" group:"scope" placeholder:"LIMITS" default:"default" keep:"fixed" help:"When a site looks endless, pages are parked: repeat=3,segments=30,length=2000,variants=500 is the default; a limit of 0 switches itself off, none all of them."`

	Program []string `name:"program" group:"scope" sep:"none" placeholder:"FILE" keep:"fixed" help:"Datalog program that says what to crawl and which tables to make, instead of the flags of this group up to --sitemaps. weir explain shows what it does. Several share the crawl: each page is fetched once, for all that ask for it."`
	Set     []string `name:"set" group:"scope" sep:"none" placeholder:"NAME=VALUE" keep:"fixed" help:"Value of a setting of the program: --set max=3 for $max. Of several programs it is for those that have it."`

	Limit     rate      `name:"limit" group:"link" placeholder:"RATE" default:"none" keep:"yes" help:"Bandwidth that may be used, L in the papers, in every second and counted on the wire: 140KB/s or 8Mbit/s; K is 1000."`
	Timetable timetable `name:"timetable" group:"link" placeholder:"SPEC" default:"none" keep:"yes" help:"Limits by day and hour, local time; the first entry that matches holds, the last is for all other times: 'Mon-Fri 08:00-18:00 500KB/s, Sat,Sun 5MB/s, 2MB/s'. A rate may be none or off (pause). With --limit the lower holds."`
	Quota     quota     `name:"quota" group:"link" placeholder:"SIZE/PERIOD" default:"none" keep:"yes" help:"Bytes that an hour, day, week or month may bring, counted over all runs and spread so that they last: 1TB/month."`
	Strict    bool      `name:"strict" group:"link" keep:"yes" help:"Rather use a little less of the limit than ever go over it."`
	Yield     bool      `name:"yield" group:"link" keep:"yes" help:"Step aside while others use the link: ten times a second a tiny probe tells how long its queue is. Needs a limit."`
	Probe     string    `name:"yield-probe" group:"link" placeholder:"ADDR" keep:"yes" help:"Whom --yield asks: ADDR (ping, else DNS), ping:ADDR, dns:ADDR[:PORT] or http://HOST/. Best is one just beyond your link. Default: the resolver in use; if that runs on this machine, the first hop."`
	Control   string    `name:"control" group:"link" enum:"weir,paper,reactive" default:"weir" keep:"yes" help:"What decides which page starts under a limit: weir; or, to compare, paper (CB + B(u) <= L by predicted rates) or reactive (one more download below L, one less above). Both hold L only by what they start."`
	Lookahead count     `name:"lookahead" group:"link" placeholder:"N" default:"64" keep:"yes" help:"How far down the queue to look for a page that fits under the limit, max_d in the paper. Default: 64."`
	Holidays  string    `name:"holidays" group:"link" placeholder:"FILE" keep:"yes" help:"Days on which servers are as fast as on a weekend, w in the paper: a date a line, 2026-12-25, or 12-25 for every year."`
	LearnFrom string    `name:"learn-from" group:"link" placeholder:"DIR" keep:"no" help:"Take over what another crawl learned of the speed of servers, B in the paper."`

	Deadline []string `name:"deadline" group:"link" sep:"none" placeholder:"SITE=TIME" keep:"yes" help:"Have all of a site by a time: example.org=06:00, a date as 2026-11-16T06:00, or a span from now as 2h30m. Its pages and bytes go first while it is behind; weir says at once if it cannot be done. SITE=none takes it back. Sizes may be told in the sites list of a config file."`

	MaxPages  count `name:"max-pages" group:"bounds" placeholder:"N" default:"none" keep:"yes" help:"Stop after N pages, counted over all runs."`
	MaxBytes  size  `name:"max-bytes" group:"bounds" placeholder:"SIZE" default:"none" keep:"yes" help:"Stop after so many bytes of bodies, counted over all runs."`
	MaxTime   span  `name:"max-time" group:"bounds" placeholder:"TIME" default:"none" keep:"yes" help:"Stop this run after a time: 90s, 2h30m, 3d."`
	StopGain  share `name:"stop-gain" group:"bounds" placeholder:"SHARE" default:"none" keep:"yes" help:"Stop when the last --batch pages score, on the mean, less than this share of what the first did, as in 0.1. Not with orders that rank pages, such as batch: ranks do not fall. Counted anew in every run."`
	SitePages count `name:"site-pages" group:"bounds" placeholder:"N" default:"100000" keep:"fixed" help:"Pages of one site, at most. Default: 100000."`

	DomainPages count `name:"domain-pages" group:"bounds" placeholder:"N" default:"1000000" keep:"fixed" help:"Pages of one registered domain, at most. Default: 1000000."`
	MaxBody     size  `name:"max-body" group:"bounds" placeholder:"SIZE" default:"64MB" keep:"yes" help:"Cut longer bodies here. Default: 64MB."`
	Memory      size  `name:"memory" group:"bounds" placeholder:"SIZE" default:"1GB" keep:"yes" help:"Memory for caches and buffers. Default: 1GB."`

	Order        string `name:"order" group:"manners" placeholder:"ORDER" default:"siteopic" keep:"fixed" help:"What to fetch first: siteopic (sites where most links, from pages that are linked to, lead; opic: such pages), length (sites with the longest queue), depth (breadth-first; depth-flat: within each site), partial, batch or siterank (by PageRank over the links seen so far) or score (from the seed file). Default: siteopic."`
	Batch        whole  `name:"batch" group:"manners" placeholder:"N" default:"10000" keep:"yes" help:"Pages in a batch, or between two rankings with --order partial or siterank, K in Castillo's thesis; and those that --stop-gain compares. Default: 10000."`
	Wait         span   `name:"wait" group:"manners" placeholder:"TIME" default:"1s" keep:"longer" help:"Pause between visits to a host, w in Castillo's thesis; at least as long as its last answer took. Default: 1s. 0s is for servers you own."`
	PerConn      series `name:"per-conn" group:"manners" placeholder:"N" default:"1" keep:"yes" help:"Pages fetched over one connection before it is closed, c in Castillo's thesis. auto lets a host that would keep the crawl waiting have more of them, up to 100, or N with auto:N: after each it rests as long as its answer took; one with a crawl-delay still gets one. Default: 1."`
	Conns        whole  `name:"conns" group:"manners" placeholder:"N" default:"64" keep:"yes" help:"Connections open at once, r in Castillo's thesis; never more than one to a host. Default: 64."`
	PerServer    whole  `name:"per-server" group:"manners" placeholder:"N" default:"4" keep:"yes" help:"Connections to one address at once. Default: 4."`
	IgnoreRobots bool   `name:"ignore-robots" group:"manners" keep:"fixed" help:"Do not ask for robots.txt nor obey it. Only for servers you own."`

	Contact   string   `name:"contact" group:"identity" placeholder:"URL|MAIL" keep:"yes" help:"Where the people you visit can reach you: goes into the User-Agent, an e-mail address also into From."`
	UserAgent string   `name:"user-agent" group:"identity" placeholder:"TEXT" keep:"fixed" help:"User-Agent instead of weir/VERSION. The name it begins with is the one robots.txt is read for."`
	Header    []string `name:"header" group:"identity" sep:"none" placeholder:"NAME:VALUE" keep:"yes" help:"Send this header to the hosts of the seeds, and to no other. Its value is kept nowhere."`
	Cookies   string   `name:"cookies" group:"identity" placeholder:"FILE" keep:"yes" help:"Send the cookies of this file (Netscape form) where they belong."`
	Auth      []string `name:"auth" group:"identity" sep:"none" placeholder:"HOST=USER:FILE" keep:"yes" help:"Log in to HOST, and to it alone, as USER with the password in FILE."`

	Proxy        string   `name:"proxy" group:"network" placeholder:"URL" keep:"yes" help:"Go through a proxy: http://, https:// or socks5://HOST:PORT."`
	Resolve      []string `name:"resolve" group:"network" sep:"none" placeholder:"HOST=ADDR" keep:"yes" help:"Take ADDR for HOST instead of asking DNS."`
	DNS          string   `name:"dns" group:"network" placeholder:"ADDR" keep:"yes" help:"DNS server to ask instead of the system's and its hosts file: ADDR or ADDR:PORT."`
	AllowPrivate bool     `name:"allow-private" group:"network" keep:"yes" help:"Connect to private addresses too. An address that a seed names is fine without it."`

	Warc        string   `name:"warc" group:"output" placeholder:"FORM" default:"gzip" keep:"fixed" help:"Archive: gzip, zstd or none. Default: gzip."`
	Index       bool     `name:"index" group:"output" keep:"yes" help:"Index what pages say while they are crawled, for weir search. Without it the first search does that."`
	ShareWith   []string `name:"share-with" group:"output" sep:"none" placeholder:"DIR" keep:"yes" help:"Take pages from the crawl in this folder that it has fetched of late, or fetches now, instead of asking their servers; and let it have this crawl's, if it names this folder too. Both must ask in the same name: --user-agent, --contact."`
	ShareWithin span     `name:"share-within" group:"output" placeholder:"TIME" default:"1h" keep:"yes" help:"How old pages of --share-with may be. Default: 1h. With weir submit, how old those of the crawl may be that the cluster has: older ones are fetched again. Default there: any age."`

	Trace string `name:"trace" group:"output" placeholder:"FILE" keep:"no" help:"Record every event of the engine, for replay."`
	JSON  bool   `name:"json" group:"output" keep:"no" help:"JSON lines on standard output: progress, and the report as the last line."`

	// Keys without a flag.
	Sites        []site   `kong:"-" name:"sites" keep:"yes"`
	DeadlineAs   []string `kong:"-" name:"deadline-as" keep:"yes"`   // in the words that deadlines were given in
	AllowAddress []string `kong:"-" name:"allow-address" keep:"yes"` // private addresses that seeds named
	ByTerm       bool     `kong:"-" name:"index-by-term" keep:"yes"` // a cluster's index is a table, see crawl.IndexRules
	HeaderHosts  []string `kong:"-" name:"header-hosts" keep:"yes"`  // hosts of the seeds that --header was given with
}

// site are the settings of one host, from the list sites of a config file.
type site struct {
	Site     string   `name:"site"`
	Wait     span     `name:"wait"`
	Limit    rate     `name:"limit"`
	MaxPages count    `name:"max-pages"`
	Headers  []string `name:"headers"`
	Deadline string   `name:"deadline"` // by when all of it shall be had
	Size     size     `name:"size"`     // about, for the deadline
	Pages    count    `name:"pages"`    // the same

	at string // its file and line
}

// where says where the settings of the site stand.
func (s *site) where() string { return cmp.Or(s.at, "sites") }

// defaults are the settings when nothing is said.
func defaults() *settings {
	s := new(settings)
	for _, f := range fields(s) {
		if f.def == "" {
			continue
		}
		if err := f.set(f.def); err != nil {
			panic("default of --" + f.name + ": " + err.Error())
		}
	}
	return s
}

// field is one setting of a struct.
type field struct {
	name, def, keep string
	value           reflect.Value
}

// fields lists what a struct of settings holds, in its order: all that has a name.
func fields(s any) []field {
	v := reflect.ValueOf(s).Elem()
	list := make([]field, 0, v.NumField())
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		if name := tag.Get("name"); name != "" {
			list = append(list, field{name, tag.Get("default"), tag.Get("keep"), v.Field(i)})
		}
	}
	return list
}

// find returns the setting with a name.
func find(list []field, name string) (field, bool) {
	i := slices.IndexFunc(list, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return list[i], true
}

// list says that the setting takes any number of values.
func (f field) list() bool { return f.value.Type() == reflect.TypeFor[[]string]() }

// empty says that there is nothing to write down. A number of 0 is something.
func (f field) empty() bool {
	switch f.value.Kind() {
	case reflect.String, reflect.Slice:
		return f.value.Len() == 0
	case reflect.Bool:
		return !f.value.Bool()
	}
	return false
}

// set gives a setting its value, from one text or from several.
func (f field) set(texts ...string) error {
	if f.list() {
		f.value.Set(reflect.ValueOf(slices.Clone(texts)))
		return nil
	}
	if len(texts) != 1 {
		return fmt.Errorf("it takes one value")
	}
	text := texts[0]
	switch v := f.value.Addr().Interface().(type) {
	case encoding.TextUnmarshaler:
		return v.UnmarshalText([]byte(text))
	case *string:
		*v = text
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*v = b
	default:
		return fmt.Errorf("it cannot be a plain value")
	}
	return nil
}

// text writes the value of a setting as a person would.
func (f field) text() string {
	if f.list() {
		return strings.Join(f.value.Interface().([]string), " ")
	}
	return fmt.Sprint(f.value.Interface())
}

// whole is a number that is 1 at least.
type whole int

func (w *whole) UnmarshalText(b []byte) error {
	n, err := strconv.ParseInt(string(b), 10, 32)
	if errors.Is(err, strconv.ErrRange) && n > 0 {
		return fmt.Errorf("%q is too large: %d is the most", b, n)
	}
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no whole number from 1 up", b)
	}
	*w = whole(n)
	return nil
}

func (w whole) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, int64(w), 10), nil }

// share is a part of 1; 0 is none.
type share float64

func (s *share) UnmarshalText(b []byte) error {
	if string(b) == none {
		*s = 0
		return nil
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || !(f > 0 && f < 1) {
		return fmt.Errorf("%q is no share: write a number between 0 and 1, as in 0.1, or none", b)
	}
	*s = share(f)
	return nil
}

func (s share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s share) String() string {
	if s == 0 {
		return none
	}
	return strconv.FormatFloat(float64(s), 'g', -1, 64)
}

// series is how many pages follow each other on one connection: so many, or as
// many as the backlog asks for, up to most.
type series struct {
	most whole
	auto bool
}

// autoMost is how many pages a connection carries at most when nothing else is
// said.
const autoMost = 100

func (s *series) UnmarshalText(b []byte) error {
	text := string(b)
	if text == "auto" {
		*s = series{autoMost, true}
		return nil
	}
	n, auto := strings.CutPrefix(text, "auto:")
	var most whole
	if err := most.UnmarshalText([]byte(n)); err != nil {
		return fmt.Errorf("%w; or write auto or auto:N", err)
	}
	*s = series{most, auto}
	return nil
}

func (s series) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s series) String() string {
	switch {
	case !s.auto:
		return strconv.Itoa(int(s.most))
	case s.most == autoMost:
		return "auto"
	}
	return "auto:" + strconv.Itoa(int(s.most))
}

// trap are the thresholds of the trap guard.
type trap frontier.Trap

// UnmarshalText reads thresholds; those that it does not name are the default's.
func (t *trap) UnmarshalText(b []byte) error {
	*t = trap(frontier.DefaultTrap())
	switch string(b) {
	case "default":
		return nil
	case none:
		*t = trap{}
		return nil
	}
	for part := range strings.SplitSeq(string(b), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		n, err := strconv.ParseUint(value, 10, 31)
		if err != nil {
			return fmt.Errorf("%q is no limit: write repeat=3,segments=30,length=2000,variants=500", part)
		}
		switch name {
		case "repeat":
			t.Repeat = int(n)
		case "segments":
			t.Segments = int(n)
		case "length":
			t.Length = int(n)
		case "variants":
			t.Variants = int(n)
		default:
			return fmt.Errorf("there is no limit called %q: they are repeat, segments, length and variants", name)
		}
	}
	return nil
}

func (t trap) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t trap) String() string {
	return fmt.Sprintf("repeat=%d,segments=%d,length=%d,variants=%d", t.Repeat, t.Segments, t.Length, t.Variants)
}

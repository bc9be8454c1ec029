package query

// Kind says where the rows of a table come from.
type Kind uint8

// Kinds of tables.
const (
	PageFact Kind = iota // the crawler: facts of one page, the page first
	SeedFact             // seed: the user, and it may grow
	File                 // an input: complete before the start
	Derived              // rules
)

// Table is one table of a program.
type Table struct {
	ID      int // its place in Checked.Tables
	Name    string
	Kind    Kind
	Columns []string // names of columns, for people; "" where nobody named one
	Types   []Type
	Lattice []Lattice
	Rules   []*Rule // that derive it
	Input   *Input  // of a File

	Level  int  // 0: live
	Steers bool // crawl, stop or wait depend on it (they themselves too)
	Live   bool // declared live
	Small  bool // declared small
	Step   int  // the column of a stepped table that counts rounds; -1 for none
	Rounds int  // of a stepped table: steps run from 0 to Rounds
	Turn   int  // of a stepped table: in a round, those of lower turns are complete before it begins
}

// Arity is how many columns the table has.
func (t *Table) Arity() int { return len(t.Types) }

// Checked is a program that means something.
type Checked struct {
	*Program
	Tables []*Table // facts first, in the order of Facts, then inputs, then derived tables as they come
	Levels int      // the highest level of a table
	Warned []Diag   // warnings
}

// Table returns the table of a name, or nil.
func (c *Checked) Table(name string) *Table {
	for _, t := range c.Tables {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Fact describes a table that the crawler supplies.
type Fact struct {
	Name    string
	Columns []string
	Types   []Type
	Doc     string // one line for people
}

// Orders are the tables that rules derive and the crawler obeys. Crawl may leave
// columns out.
var Orders = []Fact{
	{"crawl", []string{"url", "depth", "priority"}, []Type{URL, Int, Float}, "fetch the page; of several rows the least depth and the highest priority count, and both may be left out"},
	{"stop", []string{"reason"}, []Type{Text}, "end the crawl"},
	{"wait", []string{"host", "seconds"}, []Type{Text, Float}, "leave the host at least so long between two requests; of several rows the longest counts"},
}

// Facts are the tables of the crawler, seed included. Columns may be added at
// their ends: a program may leave trailing columns out.
var Facts = []Fact{
	{"fetched", []string{"url", "status", "mime", "bytes", "outcome", "at", "seconds"}, []Type{URL, Int, Text, Int, Text, Time, Float}, "a page that ended; status 0 when no answer came"},
	{"link", []string{"url", "target", "anchor", "rel"}, []Type{URL, URL, Text, Text}, "a link that a reader could follow: one row for each target, anchor and rel"},
	{"requisite", []string{"url", "target"}, []Type{URL, URL}, "what a page needs to be shown"},
	{"title", []string{"url", "text"}, []Type{URL, Text}, "the title of a page that has one"},
	{"word", []string{"url", "term", "n", "words"}, []Type{URL, Text, Int, Int}, "how often a page says a word, of how many words in all"},
	{"noindex", []string{"url"}, []Type{URL}, "a page that asks not to be indexed"},
	{"header", []string{"url", "name", "value"}, []Type{URL, Text, Text}, "a header of the answer, its name in lower case"},
	{"meta", []string{"url", "name", "content"}, []Type{URL, Text, Text}, "a meta element, its name in lower case"},
	{"redirect", []string{"url", "target", "status"}, []Type{URL, URL, Int}, "where an answer leads on to"},
	{"hreflang", []string{"url", "lang", "target"}, []Type{URL, Text, URL}, "the page in another language"},
	{"sitemap", []string{"url", "target", "lastmod", "kind"}, []Type{URL, URL, Time, Text}, "an entry of a sitemap or feed; kind is page or index"},
	{"robots", []string{"url", "target"}, []Type{URL, URL}, "a sitemap that a robots.txt names"},
	{"seed", []string{"url", "score"}, []Type{URL, Float}, "a page that the user names"},
}

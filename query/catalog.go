package query

// Declaration is a clause that is no rule.
type Declaration struct {
	Form string // an example
	Doc  string // one line for people
}

// Declarations are the clauses that are no rules.
var Declarations = []Declaration{
	{`input blocked(text) from "blocked.txt".`, "a table from a file: a row a line, a tab between columns, whose types are url, text, int, float or time"},
	{"set max = 3.", "what $max is in rules, unless --set max=5 says otherwise"},
	{"live broken.", "keep the table up to date during the crawl"},
	{"small scope.", "keep the table, which has few rows and grows seldom, in memory beside the links"},
}

// Function is what can be called in a program: a function, which gives a value,
// or a test, which holds or not.
type Function struct {
	Name   string
	Args   []Type // Text takes a URL too, as its string; Unknown takes anything
	Result Type   // Unknown for a test
	Doc    string // one line for people
}

// Functions are what expressions may call.
var Functions = []Function{
	{"host", []Type{URL}, Text, "the name of the host, without a port"},
	{"domain", []Type{URL}, Text, "the domain that the host's owner registered: example.co.uk of a.b.example.co.uk"},
	{"path", []Type{URL}, Text, "the path and the query, with the leading slash"},
	{"folder", []Type{URL}, Text, "host, port if any, and the path up to its last slash, for http and https alike: example.org/docs/"},
	{"ext", []Type{URL}, Text, "the ending of the path's last part in lower case, without the dot; empty if there is none"},
	{"depth", []Type{URL}, Int, "how many parts the path has: 0 for the front page"},
	{"lower", []Type{Text}, Text, "the text in lower case"},
	{"len", []Type{Text}, Int, "how many characters a text has"},
	{"time", []Type{Text}, Time, "the time that a constant text names: \"2026-01-01\" or \"2026-01-01T12:30:00Z\""},
	{"now", nil, Time, "the time of the snapshot; only in final tables"},
}

// Tests are what a body may ask of values.
var Tests = []Function{
	{"contains", []Type{Text, Text}, Unknown, "the first text has the second one in it"},
	{"starts", []Type{Text, Text}, Unknown, "the first text begins with the second one"},
	{"ends", []Type{Text, Text}, Unknown, "the first text ends with the second one"},
	{"under", []Type{URL, Text}, Unknown, "the page lies in the folder, or in one inside it"},
	{"matches", []Type{Text, Text}, Unknown, "the pattern, an RE2 expression and a constant, matches somewhere in the text"},
}

// Aggregation makes one value of many, in a head. The other columns of the head
// are the group.
type Aggregation struct {
	Name    string
	Least   int    // arguments at least
	Most    int    // arguments at most
	Numeric bool   // the first argument must be a number
	Result  Type   // Unknown: that of the argument
	Columns int    // of the table that it fills
	Doc     string // one line for people
}

// Aggregates are the aggregations. Sums and averages run over the distinct
// solutions of the body's named variables.
var Aggregates = []Aggregation{
	{"count", 0, MaxColumns, false, Int, 1, "how many distinct values; count<> counts the solutions"},
	{"sum", 1, 1, true, Unknown, 1, "the sum over the solutions"},
	{"avg", 1, 1, true, Float, 1, "the average over the solutions"},
	{"min", 1, 1, false, Unknown, 1, "the least value"},
	{"max", 1, 1, false, Unknown, 1, "the greatest value"},
	{"top", 3, 3, false, Unknown, 3, "top<k, score, x>: the k best x by score, as columns rank, score and x; ties go by x"},
}

// FunctionNamed returns the function of a name, or nil.
func FunctionNamed(name string) *Function { return named(Functions, name) }

// TestNamed returns the test of a name, or nil.
func TestNamed(name string) *Function { return named(Tests, name) }

func named(list []Function, name string) *Function {
	for i := range list {
		if list[i].Name == name {
			return &list[i]
		}
	}
	return nil
}

// AggregateNamed returns the aggregation of a name, or nil.
func AggregateNamed(name string) *Aggregation {
	for i := range Aggregates {
		if Aggregates[i].Name == name {
			return &Aggregates[i]
		}
	}
	return nil
}

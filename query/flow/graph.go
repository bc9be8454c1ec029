package flow

// Graph is a plan as boxes and arrows, the form in which people look at it.
// Operators are in an order in which all edges lead forward, but for those that
// are Back.
type Graph struct {
	Scheme    Scheme
	Operators []Operator
	Edges     []Edge
}

// Operator is one box of a plan.
type Operator struct {
	ID     int // its place in Graph.Operators, from 1
	Kind   string
	Detail string   // what it does, in the words of the program
	Key    string   // what decides on which partition it does it; "": it does not matter
	Stores []string // what it keeps
	Table  string   // whose rows come out of it; "" in the middle of a rule
	Final  bool     // it runs when all that it reads is quiet
}

// Kinds of operators. All but Join and Aggregate are those of Loo, Cooper and
// Krishnamurthy, section 3; their CrawlWrapper is Fetch and Extract here.
const (
	OpScan      = "Scan"      // reads rows that are there: seeds, inputs, pages that wait
	OpDupElim   = "DupElim"   // lets a row pass once, or once more when it is better
	OpFetch     = "Fetch"     // gets a page
	OpExtract   = "Extract"   // reads a page's facts
	OpSelect    = "Select"    // lets rows pass that fulfil conditions
	OpJoin      = "Join"      // brings rows together that live in one place
	OpExchange  = "Exchange"  // sends rows to where the next box wants them
	OpReorder   = "Reorder"   // the queue
	OpThrottle  = "Throttle"  // manners and limits
	OpPublish   = "Publish"   // makes rows known
	OpRedirect  = "Redirect"  // passes a page on to where its answer leads
	OpAggregate = "Aggregate" // counts, sums up, takes the best
)

// Edge leads from one operator to another, by their IDs.
type Edge struct {
	From, To int
	Exchange bool // rows may change partitions on it
	Back     bool // it closes a circle
}

func (s Scheme) String() string { return [...]string{"url", "host", "host-n"}[s] }

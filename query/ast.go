package query

// Pos is a place in a program's text. Both count from 1; columns count
// characters, not bytes.
type Pos struct{ Line, Col int }

// Program is a text that was read. Its parts point into the text by their Pos.
type Program struct {
	Name   string // for messages: the file's name
	Text   string
	Rules  []*Rule
	Inputs []*Input
	Lives  []*Mark // tables declared live
	Smalls []*Mark // tables declared small
	Sets   []*Set

	lost  []string // tables of clauses that could not be read
	vague bool     // what was lost may be anything
}

// Input declares a table whose rows are in a file.
type Input struct {
	Pos
	Table string
	Types []Type
	File  string // as written
}

// Mark names a table in a declaration.
type Mark struct {
	Pos
	Table string
}

// Set gives a setting its value, unless the user gives it another.
type Set struct {
	Pos
	Name  string
	Value Value
	Type  Type
}

// Rule derives rows of its head from what its body finds. A rule without a body
// is a row of its own.
type Rule struct {
	Pos
	ID   int // its place among the program's rules
	Head *Atom
	Body []*Literal

	Class Class // from Check
}

// Class says when what a rule derives is settled.
type Class uint8

// Classes of rules.
const (
	Plain   Class = iota // no aggregate
	Sealed               // an aggregate over one page's own facts: settled with the page
	Growing              // an aggregate in a min or max column that can only improve
	Final                // an aggregate that needs all rows
)

// Atom is a table with its columns.
type Atom struct {
	Pos
	Table string
	Args  []*Term
}

// Literal is one condition of a body: exactly one of Atom, Test and Compare is set.
type Literal struct {
	Pos
	Neg     bool
	Atom    *Atom
	Test    *Term // a Call
	Compare *Compare
}

// Compare is a comparison. "=" binds a variable that has no value yet.
type Compare struct {
	Pos        // of the operator
	Op  string // = != < <= > >=
	L   *Term
	R   *Term
}

// Op says what a term is.
type Op uint8

// Kinds of terms.
const (
	Var       Op = iota
	Anon         // _, with a Name of its own that no variable can have
	Const        // Value, Type
	Call         // Name(Args...)
	Add          // Args[0] + Args[1], and so on
	Sub          //
	Mul          //
	Div          //
	Aggregate    // Name<Args...>; only in heads
)

// Term is an expression. After Check its Type is known.
type Term struct {
	Pos
	Op      Op
	Name    string
	Value   Value
	Type    Type
	Args    []*Term
	Lattice Lattice // of a head's column, as written
	Setting string  // the $name that this constant came from, or ""
}

// Lattice says how two values of one column become one.
type Lattice uint8

// Lattices. In columns without one, rows with different values are different rows.
const (
	Each Lattice = iota
	Min
	Max
)

func (l Lattice) String() string { return [...]string{"", "min", "max"}[l] }

// Walk calls fn for t and all terms in it, t first.
func (t *Term) Walk(fn func(*Term)) {
	fn(t)
	for _, a := range t.Args {
		a.Walk(fn)
	}
}

// Vars calls fn for every variable in t, anonymous ones too.
func (t *Term) Vars(fn func(*Term)) {
	t.Walk(func(t *Term) {
		if t.Op == Var || t.Op == Anon {
			fn(t)
		}
	})
}

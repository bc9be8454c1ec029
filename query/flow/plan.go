package flow

import (
	"weir/query"
)

// Plan is a program made ready to run. It is not changed any more once its
// inputs are loaded: any number of Parts may share it, at the same time.
type Plan struct {
	Program *query.Checked
	Options Options
	Rules   []*Rule
	Stages  []*Stage // of all rules; those that send come before those that receive
	Stores  []*Store // by ID

	// KeepsCrawl says that rules look at crawl other than beside the page's own
	// facts: the caller tells the Part of every new or better row by
	// [Part.Crawled].
	KeepsCrawl bool
	// TestsDepth and TestsPriority say that a conclusion may hang on how deep, or
	// how wanted, a page is: when that gets better after the fetch, the caller
	// delivers the page again.
	TestsDepth    bool
	TestsPriority bool

	files  []*hall  // rows of inputs, by query.Table.ID
	tables []*Store // of tables that are not facts of pages, by query.Table.ID
	paths  int      // made so far
	turned *Path    // small tables that have turned pages away
	seals  int      // pools of sealed aggregates
	memos  int      // of lookups in halls
}

// Rule is one rule, taken apart into stages.
type Rule struct {
	*query.Rule
	Head   *query.Table
	Vars   []Var    // what the rule has names for; the place of a variable is its slot
	Stages []*Stage // each after those whose rows it is sent; the last one finds the solutions
	Pools  []*Pool  // of a rule with aggregates, one for each
	Ships  bool     // what it derives may live elsewhere than where it is found

	index int            // in Plan.Rules
	slots map[string]int // of variables, by name
}

// Var is a variable of a rule, or a place for the value of an expression that
// stands in a column of the body.
type Var struct {
	Name string // "" for values without a name
	Type query.Type
}

// Root is the stage that finds the rule's solutions.
func (r *Rule) Root() *Stage { return r.Stages[len(r.Stages)-1] }

// Stage is a join of what lives, or was sent, to one place.
type Stage struct {
	ID     int
	Rule   *Rule
	At     string   // whose home it is at: a variable, a constant as written, "_", or "" when it does not matter
	Inputs []*Input // closed and small tables too
	Absent []*Input // what must not be there
	Conds  []*Cond
	Sends  []int  // slots that make up a row for Into, the first one decides where it goes; nil in a rule's root
	Into   *Store // where the rows go
	Flows  bool   // all it needs comes with one page: it keeps nothing, and runs once for a page
	Level  int    // 0: runs whenever a row comes; else when everything below Level is quiet
	Hides  bool   // links that a crawler must not follow are not shown to it

	// Projects says that it brings a negated table to where it is looked for.
	Projects bool

	class int          // of locations; -1: no variable's
	bound map[int]bool // slots that have a value after it
	twin  *Stage       // another rule's stage that does the same, and is run instead
	late  *late        // it waits for its turn in a round of stepped tables
	run   op           // of a stage that flows, or has no rows to wait for
}

// Source says how an input's rows come.
type Source uint8

// Sources.
const (
	FromPage  Source = iota // read where they lie in the page's facts
	FromCrawl               // the page's own row of crawl, as it is delivered
	FromFile                // an input, the same everywhere
	FromStore               // a store of this partition
	FromSmall               // a small table, in memory everywhere
)

// Input is a table, or what another stage sends, as one stage sees it.
type Input struct {
	Stage   *Stage
	Source  Source
	Table   *query.Table // nil for rows of another stage
	From    *Stage       // that stage: between the two is an Exchange
	Store   *Store       // of FromStore and FromSmall
	Columns []Column     // of the table, or of what is sent
	Atom    *query.Atom  // as written; nil for rows of another stage

	home   bool  // a small table that is read where its rows live
	sealed bool  // a negated fact of a page of which the rule has another one
	leads  bool  // it leads to what a rule orders
	on     delta // what to do with a new row
}

// Column says what a column of an input has to be: the constant, if there is
// one, else the value of the slot, which it gives it if it has none. A slot of -1
// takes anything.
type Column struct {
	Slot  int
	Const *query.Value
}

// Cond is a comparison or a test of a rule, or the value of a variable.
type Cond struct {
	Literal *query.Literal
	Slot    int // that it gives a value, or -1

	vars []int
	done bool
}

// Store keeps rows. Its columns without a lattice are its key.
type Store struct {
	ID      uint32
	Table   *query.Table // whose rows it keeps, or nil for what a stage sends
	Columns []int        // which columns of the table
	Types   []query.Type
	Lattice []query.Lattice
	Paths   []*Path  // the first one has all columns as they come
	Readers []*Input // whom a new row is told
	Pool    *Pool    // the aggregate that takes its rows, if one does
	Sums    *Pool    // the aggregate whose results so far it keeps, if it does
	Passes  bool     // its rows are only passed on: nobody looks them up
	Small   bool     // it is whole in memory on every partition
	Hides   bool     // see Stage
	Writers []*Stage // whose rows it gets, if they come from stages

	keys  []int // columns without a lattice
	lats  []int // the others
	point bool  // there are no others
	quiet bool  // nobody is told of new rows

	special bool // its rows mean something to the caller

	// Of page facts that are kept:
	picks *Input  // an input that waits for them
	own   []*Cond // conditions that they have to pass
	where string  // the same for comparison
	keep  op      // puts the facts of a page that do

	hall *hall // of a small table: its shape
}

// Path is an order of a store's key columns: rows are found by values of the
// first ones.
type Path struct {
	ID      uint16
	Columns []int
	Prefix  int // how many columns are given when it is used; 0: it is only used whole

	group int // how many columns are the group's, of a pool that grows
}

// Pool is what one aggregate of a rule gathers before it is worked out, at the
// home of the group. Its rows are the group's columns, then what the aggregate
// tells apart: its arguments, or, if it runs over solutions, its argument and all
// named variables.
type Pool struct {
	Rule   *Rule
	Fold   Fold
	Term   *query.Term // the aggregate
	Column int         // of the head: where its result begins
	Group  []int       // columns of the head that are not aggregates
	Types  []query.Type
	Store  *Store // nil for sealed ones, which need nothing but the page
	Totals *Store // of growing ones: the result so far, by group

	terms []*query.Term // of Group
	named []int         // slots of named variables
	home  int           // the column that says where a group lives
	slot  int           // of sealed ones: which of Part.sealing is theirs
}

package query

// Bounds of a program. What exceeds them is an error, not a crash.
const (
	MaxProgram  = 1 << 20   // bytes of text
	MaxRules    = 10_000    //
	MaxLiterals = 1_000     // in one body
	MaxColumns  = 32        // of a table, or arguments of a function
	MaxNesting  = 100       // of expressions
	MaxText     = 64 << 10  // bytes of one constant
	MaxName     = 100       // letters of a table, variable or setting
	MaxErrors   = 100       // reported at a time
	MaxInput    = 64 << 20  // bytes of one input file
	MaxRows     = 5_000_000 // of one input file
)

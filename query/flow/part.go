package flow

// Part is one partition of a running program.
type Part struct{}

// env are the values of a rule's variables.
type env struct{}

// op is a piece of a compiled stage: it does its work for the values it is given
// and calls the next one for each result.
type op func(x *Part, e *env)

// delta is what a stage does with a new row of an input.
type delta func(x *Part, row []byte)

// hall is a table in memory.
type hall struct{}

package query

// Diag is something wrong with a program, or worth a warning: where, what, and
// what to do.
type Diag struct {
	Pos
	Message string
	Hint    string
	Warning bool
}

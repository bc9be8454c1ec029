package query

// Type is what the values of a column are.
type Type uint8

// Types. A URL is canonical; as a text it is its string. Times are seconds since
// 1970. Durations and sizes are numbers: 30s is 30, 10KB is 10000.
const (
	Unknown Type = iota
	URL
	Text
	Int
	Float
	Time
)

func (t Type) String() string {
	return [...]string{"unknown", "url", "text", "int", "float", "time"}[t]
}

// Textual says that values of the type are in Value.S.
func (t Type) Textual() bool { return t == URL || t == Text }

// Numeric says that values of the type can be added up.
func (t Type) Numeric() bool { return t == Int || t == Float }

// Value is one value; its type is that of its column. Texts and URLs are in S.
// Ints and times are in N; of a float N holds the bits, and neither NaN nor
// infinite is a value.
type Value struct {
	S string
	N int64
}

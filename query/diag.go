package query

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Diag is something wrong with a program, or worth a warning: where, what, and
// what to do. Without a line it is about the program as a whole.
type Diag struct {
	Pos
	Message string
	Hint    string
	Warning bool
}

// Failed says that there is an error among diags, not only warnings.
func Failed(diags []Diag) bool {
	return slices.ContainsFunc(diags, func(d Diag) bool { return !d.Warning })
}

// Tidy sorts diags by position, drops repetitions, and cuts what is more than a
// person wants to read at a time.
func Tidy(diags []Diag) []Diag {
	slices.SortStableFunc(diags, func(a, b Diag) int { return a.compare(b.Pos) })
	diags = slices.Compact(diags)
	if more := len(diags) - MaxErrors; more > 0 {
		first := diags[MaxErrors]
		diags = append(diags[:MaxErrors], Diag{Pos: first.Pos, Message: fmt.Sprintf("and %d more from here on", more), Warning: first.Warning})
	}
	return diags
}

func (p Pos) compare(q Pos) int {
	if p.Line != q.Line {
		return p.Line - q.Line
	}
	return p.Col - q.Col
}

// Format is d as a person should see it: file, line and column, what is wrong,
// the line itself with a caret below the place, and the hint.
func (d Diag) Format(p *Program) string {
	var b strings.Builder
	b.WriteString(p.Name)
	if d.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", d.Line, d.Col)
	}
	kind := "error"
	if d.Warning {
		kind = "warning"
	}
	fmt.Fprintf(&b, ": %s: %s\n", kind, d.Message)
	if line, ok := lineOf(p.Text, d.Line); ok {
		shown, pad := excerpt(line, d.Col)
		fmt.Fprintf(&b, "  %s\n  %s^\n", shown, pad)
	}
	if d.Hint != "" {
		fmt.Fprintf(&b, "  hint: %s\n", d.Hint)
	}
	return b.String()
}

// lineOf returns the n-th line of text, counted from 1.
func lineOf(text string, n int) (string, bool) {
	if n < 1 {
		return "", false
	}
	for ; n > 1; n-- {
		_, rest, found := strings.Cut(text, "\n")
		if !found {
			return "", false
		}
		text = rest
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), true
}

// Characters of a long line that are shown before and after the caret.
const (
	before = 60
	after  = 40
)

// excerpt returns what is shown of a line, and what goes before the caret below
// it: as wide as what stands above, tabs as tabs.
func excerpt(line string, col int) (shown, pad string) {
	const dots = "..."
	runes := []rune(line)
	caret := min(col-1, len(runes))
	lo, hi := 0, len(runes)
	if len(runes) > before+after {
		lo, hi = max(0, caret-before), min(len(runes), caret+after)
	}
	var s, p strings.Builder
	if lo > 0 {
		s.WriteString(dots)
		p.WriteString(strings.Repeat(" ", len(dots)))
	}
	for i, r := range runes[lo:hi] {
		if r != '\t' && !unicode.IsGraphic(r) {
			r = unicode.ReplacementChar
		}
		s.WriteRune(r)
		if lo+i < caret {
			p.WriteString(blank(r))
		}
	}
	if hi < len(runes) {
		s.WriteString(dots)
	}
	return s.String(), p.String()
}

// blank is white space as wide as r on a terminal.
func blank(r rune) string {
	switch {
	case r == '\t':
		return "\t"
	case unicode.In(r, unicode.Mn, unicode.Me):
		return ""
	case wide(r):
		return "  "
	}
	return " "
}

// wide says that a terminal gives r two columns.
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115f || // Hangul Jamo
		r >= 0x2e80 && r <= 0x303e || // CJK radicals and punctuation
		r >= 0x3041 && r <= 0xa4cf || // kana, ideographs, Yi
		r >= 0xac00 && r <= 0xd7a3 || // Hangul
		r >= 0xf900 && r <= 0xfaff || // compatibility ideographs
		r >= 0xfe30 && r <= 0xfe6f || // vertical and small forms
		r >= 0xff00 && r <= 0xff60 || // full-width forms
		r >= 0xffe0 && r <= 0xffe6 ||
		r >= 0x1f300 && r <= 0x1f64f || // pictures
		r >= 0x1f900 && r <= 0x1f9ff ||
		r >= 0x20000 && r <= 0x3fffd) // more ideographs
}

// Nearest returns the name among those that was probably meant, or "": the one
// with the fewest letters to add, drop, change or swap, if they are few.
func Nearest(name string, among []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, a := range among {
		if d := distance(name, a, least); d < least && d < len(name) {
			best, least = a, d
		}
	}
	return best
}

// distance is how many letters must be added, dropped, changed or swapped with
// their neighbour to make b of a, or any number from most on if it is not less.
func distance(a, b string, most int) int {
	if len(a)-len(b) >= most || len(b)-len(a) >= most {
		return most
	}
	rows := [3][]int{}
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, last, before := rows[i%3], rows[(i+2)%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return rows[len(a)%3][len(b)]
}

// Package draw shows plans: it decides how boxes and arrows look on a terminal,
// as SVG, as Graphviz reads them, and as JSON.
//
// On a terminal a plan is read from top to bottom. Each box is a line; the rails
// on its left lead from it to the boxes that take its rows, as in the history of
// a program. A double rail is an Exchange: there rows may change partitions.
//
//	●     1 Scan     pages that wait
//	●     2 Extract  link, fetched
//	├─●   3 Select   D < 3
//	│ ◆   4 Exchange home of V
//	└─╚═● 5 Join     link(U, V), fetched(V, S)
//
// Whatever a program says may stand in a drawing: texts are escaped in every
// form, and cannot reach the terminal as control characters.
package draw

import "strings"

// tame replaces what would act on a terminal.
func tame(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' {
			return '\ufffd'
		}
		return r
	}, s)
}

// wrap breaks a text into lines of at most so many characters, after commas and
// at spaces where it can. There is at least one line.
func wrap(s string, width int) []string {
	var lines []string
	rest := []rune(s)
	for len(rest) > width {
		at, comma := 0, 0
		for i := 1; i <= width; i++ {
			if rest[i] == ' ' {
				if at = i; rest[i-1] == ',' {
					comma = i
				}
			}
		}
		if comma > width/2 {
			at = comma
		}
		if at == 0 {
			lines = append(lines, string(rest[:width]))
			rest = rest[width:]
			continue
		}
		lines = append(lines, string(rest[:at]))
		rest = rest[at+1:]
	}
	return append(lines, string(rest))
}

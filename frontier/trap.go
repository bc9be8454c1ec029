package frontier

import (
	"fmt"
	"strings"
)

// Trap says when a site looks endless. What it catches is parked, not dropped:
// listed by weir export parked and crawled after weir release.
type Trap struct {
	Repeat   int // a path segment, or a cycle of segments, so many times in a row
	Segments int // more path segments than this
	Length   int // path and query longer than this, in bytes
	Variants int // so many queries of one path, when most of their payloads repeat
}

// DefaultTrap are the thresholds when none are given.
func DefaultTrap() Trap {
	return Trap{Repeat: 3, Segments: 30, Length: 2000, Variants: 500}
}

// Path returns why a path with query looks like a trap, or "".
func (t Trap) Path(path string) string {
	if t.Length > 0 && len(path) > t.Length {
		return fmt.Sprintf("longer than %d bytes", t.Length)
	}
	path, _, _ = strings.Cut(path, "?")
	path = strings.Trim(path, "/")
	n := strings.Count(path, "/") + 1
	if t.Segments > 0 && n > t.Segments {
		return fmt.Sprintf("more than %d path segments", t.Segments)
	}
	if t.Repeat < 2 || n < t.Repeat {
		return ""
	}
	segments := strings.Split(path, "/")
	for cycle := 1; cycle*t.Repeat <= len(segments); cycle++ {
		same := 0 // how many segments in a row equal the one a cycle before
		for i := cycle; i < len(segments); i++ {
			if segments[i] != segments[i-cycle] || segments[i] == "" {
				same = 0
				continue
			}
			if same++; same >= cycle*(t.Repeat-1) {
				if cycle == 1 {
					return fmt.Sprintf("/%s/ %d times in a row", segments[i], t.Repeat)
				}
				return fmt.Sprintf("/%s/ repeated %d times", strings.Join(segments[i-cycle+1:i+1], "/"), t.Repeat)
			}
		}
	}
	return ""
}

// Queries says whether one path with so many queries fetched, of which so many
// brought a payload seen before, is a trap.
func (t Trap) Queries(fetched, repeats int64) bool {
	return t.Variants > 0 && fetched >= int64(t.Variants) && 2*repeats > fetched
}

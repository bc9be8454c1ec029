package query

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"weir/page"
)

// Read reads the rows of the input's file: a row a line, its columns separated
// by tabs and white space round them of no account. Empty lines and those that
// begin with # are none. Positions of what is wrong are those of the file.
func (in *Input) Read(file string) ([][]Value, []Diag) {
	if len(file) > MaxInput {
		return nil, []Diag{{Message: fmt.Sprintf("the file has more than %d bytes", MaxInput)}}
	}
	file = strings.TrimPrefix(file, "\ufeff")
	rows := make([][]Value, 0, min(strings.Count(file, "\n")+1, MaxRows))
	var diags []Diag
	var room []Value // for the rows to come
	pos := Pos{0, 1}
	for len(file) > 0 {
		line := file
		if i := strings.IndexByte(file, '\n'); i >= 0 {
			line, file = file[:i], file[i+1:]
		} else {
			file = ""
		}
		pos.Line++
		if strings.TrimSpace(line) == "" || line[0] == '#' {
			continue
		}
		if len(rows) == MaxRows {
			diags = append(diags, Diag{Pos: pos, Message: fmt.Sprintf("more than %d rows", MaxRows)})
			break
		}
		if len(room) < len(in.Types) {
			room = make([]Value, 1024*len(in.Types))
		}
		row := room[:len(in.Types):len(in.Types)]
		if d := in.row(line, pos, row); d != nil {
			if diags = append(diags, *d); len(diags) > MaxErrors {
				break
			}
			continue
		}
		room = room[len(in.Types):]
		rows = append(rows, row)
	}
	return rows, Tidy(diags)
}

// row reads one line, or says what is wrong with it.
func (in *Input) row(line string, pos Pos, row []Value) *Diag {
	if n := strings.Count(line, "\t") + 1; n != len(in.Types) {
		return &Diag{Pos: pos, Message: fmt.Sprintf("%s has %s, this line has %d", in.Table, columns(len(in.Types)), n),
			Hint: "a tab stands between two columns"}
	}
	for i, typ := range in.Types {
		field, rest, _ := strings.Cut(line, "\t")
		v, err := typ.read(strings.TrimSpace(field))
		if err != nil {
			return &Diag{Pos: pos, Message: fmt.Sprintf("column %d of %s: %v", i+1, in.Table, err)}
		}
		row[i] = v
		pos.Col += utf8.RuneCountInString(field) + 1
		line = rest
	}
	return nil
}

func columns(n int) string {
	if n == 1 {
		return "one column"
	}
	return strconv.Itoa(n) + " columns"
}

// read reads a value of the type as it stands in a file.
func (t Type) read(s string) (Value, error) {
	switch t {
	case URL:
		u, err := page.Parse(s)
		return Value{S: u.String()}, err
	case Int, Float:
		v, typ := toConstant(s)
		switch {
		case typ == t:
			return v, nil
		case typ == Int:
			return FloatValue(float64(v.N)), nil
		case typ == Float:
			return Value{}, fmt.Errorf("%s is not a whole number", short(s))
		}
		return Value{}, fmt.Errorf("%s is no number", short(s))
	case Time:
		n, err := ParseTime(s)
		return Value{N: n}, err
	}
	switch {
	case len(s) > MaxText:
		return Value{}, fmt.Errorf("a text of %d bytes, at most %d are allowed", len(s), MaxText)
	case !utf8.ValidString(s):
		return Value{}, errors.New("the text is not UTF-8")
	}
	return Value{S: s}, nil
}

// timeHint says how times are written.
const timeHint = "write 2026-01-31 or 2026-01-31T12:30:00Z"

// layouts of times, the most exact first.
var layouts = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, "2006-01", "2006"}

// ParseTime reads a time as seconds since 1970: 2026-01-31, 2026-01-31T12:30:00Z,
// 2026-01 and the like. Without a zone it is UTC.
func ParseTime(s string) (int64, error) {
	for _, layout := range layouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Unix(), nil
		}
	}
	return 0, fmt.Errorf("%s is no time: %s", short(s), timeHint)
}

// short is s quoted, cut to what a message can show.
func short(s string) string {
	const most = 40
	n := 0
	for i := range s {
		if n++; n > most {
			return strconv.Quote(s[:i] + "...")
		}
	}
	return strconv.Quote(s)
}

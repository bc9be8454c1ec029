package query

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Units that may follow a number, and how many seconds or bytes they are.
var (
	unitNames   = []string{"ms", "s", "m", "h", "d", "B", "KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB"}
	unitFactors = []float64{0.001, 1, 60, 3600, 86400, 1, 1e3, 1e6, 1e9, 1e12, 1 << 10, 1 << 20, 1 << 30, 1 << 40}
)

var (
	errUnit  = errors.New("this is no unit")
	errRange = errors.New("this number is too large")
)

// toNumber is the value of a number with a unit. With a unit it is an int if it
// is whole: 1.5h is 5400, and 500ms is the float 0.5.
func toNumber(digits, unit string) (Value, Type, error) {
	factor := 1.0
	if unit != "" {
		i := slices.Index(unitNames, unit)
		if i < 0 {
			return Value{}, Unknown, errUnit
		}
		factor = unitFactors[i]
	}
	if !strings.ContainsAny(digits, ".e") && factor >= 1 {
		n, err := strconv.ParseInt(digits, 10, 64)
		whole := int64(factor)
		if err != nil || n > math.MaxInt64/whole || n < math.MinInt64/whole {
			return Value{}, Unknown, errRange
		}
		return Value{N: n * whole}, Int, nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	f *= factor
	if err != nil || math.IsInf(f, 0) {
		return Value{}, Unknown, errRange
	}
	if unit != "" && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return Value{N: int64(f)}, Int, nil
	}
	return FloatValue(f), Float, nil
}

// FloatValue is f as a value; f is finite. There is only one zero.
func FloatValue(f float64) Value {
	if f == 0 {
		f = 0 // not the negative one
	}
	return Value{N: int64(math.Float64bits(f))}
}

// Float is the number that a value of type Float holds.
func (v Value) Float() float64 { return math.Float64frombits(uint64(v.N)) }

// toConstant reads what a person gave a setting: a number with or without a
// unit, a text in quotes, and otherwise a text without any.
func toConstant(s string) (Value, Type) {
	x := newLexer(s)
	t := x.next()
	sign := ""
	if t.is("-") {
		sign = "-"
		t = x.next()
	}
	if t.after == (Pos{1, utf8.RuneCountInString(s) + 1}) {
		switch {
		case t.kind == number:
			if v, typ, err := toNumber(sign+t.s, t.unit); err == nil {
				return v, typ
			}
		case t.kind == text && sign == "":
			return Value{S: t.s}, Text
		}
	}
	return Value{S: s}, Text
}

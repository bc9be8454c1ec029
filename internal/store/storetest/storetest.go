// Package storetest says what every store of rows must do, as one suite of
// tests. The Ledger relies on nothing else.
//
// The contract:
//
//   - Get and Scan see committed rows only, and all of a group's rows or none.
//   - A row's value is the last one set; within a group the order of Set,
//     Delete and DeleteRange counts.
//   - Scan goes in the order of keys as bytes, from lower to before upper, over
//     the rows as they were when it began. A nil bound is none.
//   - Values are copied on the way in and, by Get, on the way out.
//   - The first bytes 'd' and 'w' belong to the store; writing there panics.
package storetest

import (
	"bytes"
	"fmt"
	"sort"
	"testing"

	"pgregory.net/rapid"
)

// Reader is the reading half of a store.
type Reader interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Scan(lower, upper []byte, fn func(key, value []byte) bool) error
}

// Writer is one group of changes.
type Writer interface {
	Set(key, value []byte)
	Delete(key []byte)
	DeleteRange(lower, upper []byte)
	Commit() error
}

// KV is a store under test. Begin stands apart from Reader because each store
// returns a type of its own.
type KV struct {
	Reader
	Begin func() Writer
	// Reopen closes the store and opens it again; nil when it does not last.
	Reopen func() KV
}

// Run tests the stores that open makes, each empty.
func Run(t *testing.T, open func(t testing.TB) KV) {
	t.Run("visible after commit", func(t *testing.T) { visible(t, open(t)) })
	t.Run("order within a group", func(t *testing.T) { order(t, open(t)) })
	t.Run("scan bounds", func(t *testing.T) { bounds(t, open(t)) })
	t.Run("scan sees one moment", func(t *testing.T) { moment(t, open(t)) })
	t.Run("copies", func(t *testing.T) { copies(t, open(t)) })
	t.Run("own keys", func(t *testing.T) { ownKeys(t, open(t)) })
	t.Run("like a map", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { likeMap(r, open(t)) })
	})
}

type tester interface {
	Helper()
	Fatalf(string, ...any)
}

func must(t tester, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func want(t tester, kv Reader, key, value string) {
	t.Helper()
	v, ok, err := kv.Get([]byte(key))
	must(t, err)
	if !ok || string(v) != value {
		t.Fatalf("Get(%q) = %q, %v, want %q", key, v, ok, value)
	}
}

func absent(t tester, kv Reader, key string) {
	t.Helper()
	if v, ok, err := kv.Get([]byte(key)); ok || err != nil {
		t.Fatalf("Get(%q) = %q, %v, %v, want nothing", key, v, ok, err)
	}
}

func keys(t tester, kv Reader, lower, upper []byte) string {
	t.Helper()
	var out []string
	must(t, kv.Scan(lower, upper, func(k, _ []byte) bool {
		if k[0] != 'w' && k[0] != 'd' {
			out = append(out, string(k))
		}
		return true
	}))
	return fmt.Sprint(out)
}

func visible(t *testing.T, kv KV) {
	absent(t, kv, "a")
	g := kv.Begin()
	g.Set([]byte("a"), []byte("1"))
	g.Set([]byte("empty"), nil)
	absent(t, kv, "a")
	must(t, g.Commit())
	want(t, kv, "a", "1")
	want(t, kv, "empty", "")
	g = kv.Begin()
	g.Delete([]byte("a"))
	g.Delete([]byte("never was"))
	want(t, kv, "a", "1")
	must(t, g.Commit())
	absent(t, kv, "a")
	must(t, kv.Begin().Commit())
}

func order(t *testing.T, kv KV) {
	g := kv.Begin()
	g.Set([]byte("a"), []byte("1"))
	g.Set([]byte("a"), []byte("2"))
	g.Set([]byte("b"), []byte("1"))
	g.Delete([]byte("b"))
	g.Delete([]byte("c"))
	g.Set([]byte("c"), []byte("3"))
	g.Set([]byte("q1"), nil)
	g.Set([]byte("q2"), nil)
	g.DeleteRange([]byte("q"), []byte("r"))
	g.Set([]byte("q2"), []byte("again"))
	must(t, g.Commit())
	want(t, kv, "a", "2")
	absent(t, kv, "b")
	want(t, kv, "c", "3")
	absent(t, kv, "q1")
	want(t, kv, "q2", "again")
}

func bounds(t *testing.T, kv KV) {
	g := kv.Begin()
	for _, k := range []string{"a", "b", "b\x00", "b\xff", "c", "\xff\xff"} {
		g.Set([]byte(k), []byte(k))
	}
	must(t, g.Commit())
	for _, c := range []struct {
		lower, upper []byte
		want         []string
	}{
		{nil, nil, []string{"a", "b", "b\x00", "b\xff", "c", "\xff\xff"}},
		{[]byte("b"), []byte("c"), []string{"b", "b\x00", "b\xff"}},
		{[]byte("b\x00"), nil, []string{"b\x00", "b\xff", "c", "\xff\xff"}},
		{nil, []byte("b"), []string{"a"}},
		{[]byte("x"), []byte("y"), nil},
	} {
		if got := keys(t, kv, c.lower, c.upper); got != fmt.Sprint(c.want) {
			t.Errorf("Scan(%q, %q) = %q, want %q", c.lower, c.upper, got, c.want)
		}
	}
	n := 0
	must(t, kv.Scan([]byte("a"), []byte("d"), func(_, _ []byte) bool { n++; return n < 2 }))
	if n != 2 {
		t.Errorf("Scan went on to %d rows after fn said stop", n)
	}
}

func moment(t *testing.T, kv KV) {
	g := kv.Begin()
	g.Set([]byte("a"), []byte("1"))
	g.Set([]byte("b"), []byte("1"))
	must(t, g.Commit())
	var got []string
	must(t, kv.Scan([]byte("a"), []byte("c"), func(k, v []byte) bool {
		if string(k) == "a" {
			g := kv.Begin()
			g.Set([]byte("b"), []byte("2"))
			g.Set([]byte("bb"), []byte("2"))
			must(t, g.Commit())
		}
		got = append(got, string(k)+string(v))
		return true
	}))
	if fmt.Sprint(got) != "[a1 b1]" {
		t.Errorf("Scan saw %v, a commit made while it ran", got)
	}
	want(t, kv, "b", "2")
}

func copies(t *testing.T, kv KV) {
	k, v := []byte("key"), []byte("value")
	g := kv.Begin()
	g.Set(k, v)
	k[0], v[0] = 'x', 'x'
	must(t, g.Commit())
	want(t, kv, "key", "value")
	got, _, err := kv.Get([]byte("key"))
	must(t, err)
	got[0] = 'x'
	want(t, kv, "key", "value")
}

func ownKeys(t *testing.T, kv KV) {
	g := kv.Begin()
	for name, fn := range map[string]func(){
		"set d":         func() { g.Set([]byte("digest"), nil) },
		"set w":         func() { g.Set([]byte("w"), nil) },
		"set nothing":   func() { g.Set(nil, nil) },
		"delete w":      func() { g.Delete([]byte("wm")) },
		"range over d":  func() { g.DeleteRange([]byte("a"), []byte("f")) },
		"range into w":  func() { g.DeleteRange([]byte("u"), []byte("wm")) },
		"range to end":  func() { g.DeleteRange([]byte("a"), nil) },
		"range from wm": func() { g.DeleteRange([]byte("wm"), []byte("x")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			fn()
		}()
	}
	g.DeleteRange([]byte("c"), []byte("d"))
	g.DeleteRange([]byte("u"), []byte("w"))
	g.DeleteRange([]byte("x"), []byte("y"))
	must(t, g.Commit())
}

// likeMap compares the store with a map under random groups.
func likeMap(t *rapid.T, kv KV) {
	model := map[string]string{}
	key := rapid.SampledFrom([]string{"a", "b", "ba", "bb", "c", "e", "ea", "q1", "q2", "q3"})
	for range rapid.IntRange(1, 8).Draw(t, "groups") {
		g := kv.Begin()
		for range rapid.IntRange(0, 8).Draw(t, "ops") {
			k := key.Draw(t, "key")
			switch rapid.IntRange(0, 5).Draw(t, "op") {
			case 0:
				g.Delete([]byte(k))
				delete(model, k)
			case 1:
				upper := k + "~"
				g.DeleteRange([]byte(k), []byte(upper))
				for m := range model {
					if m >= k && m < upper {
						delete(model, m)
					}
				}
			default:
				v := rapid.StringN(0, 4, -1).Draw(t, "value")
				g.Set([]byte(k), []byte(v))
				model[k] = v
			}
		}
		must(t, g.Commit())
		if kv.Reopen != nil && rapid.IntRange(0, 5).Draw(t, "reopen") == 0 {
			kv = kv.Reopen()
		}
		compare(t, kv, model)
	}
}

func compare(t tester, kv Reader, model map[string]string) {
	t.Helper()
	var names []string
	for k := range model {
		names = append(names, k)
	}
	sort.Strings(names)
	i := 0
	must(t, kv.Scan(nil, nil, func(k, v []byte) bool {
		if k[0] == 'w' || k[0] == 'd' {
			return true
		}
		if i >= len(names) || !bytes.Equal(k, []byte(names[i])) || string(v) != model[names[i]] {
			t.Fatalf("row %d is %q=%q, want %q", i, k, v, names)
		}
		i++
		return true
	}))
	if i != len(names) {
		t.Fatalf("%d rows of %d", i, len(names))
	}
	for k, v := range model {
		want(t, kv, k, v)
	}
}

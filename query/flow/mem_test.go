package flow

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// mapState is a State as simple as can be.
type mapState map[string]string

func (s mapState) Get(key []byte) ([]byte, bool, error) {
	v, ok := s[string(key)]
	return []byte(v), ok, nil
}

func (s mapState) Scan(lower, upper []byte, fn func(key, value []byte) bool) error {
	for _, k := range slices.Sorted(maps.Keys(s)) {
		if k >= string(lower) && k < string(upper) && !fn([]byte(k), []byte(s[k])) {
			break
		}
	}
	return nil
}

func (s mapState) commit(out *Out) {
	for _, p := range out.Put {
		if p.Gone {
			delete(s, string(p.Key))
		} else {
			s[string(p.Key)] = string(p.Value)
		}
	}
}

// keys of a few groups, each a column that ends in a slash and a rest.
func drawKey(t *rapid.T) (key []byte, cut int) {
	group := rapid.SampledFrom([]string{"a/", "b/", "bb/", "c/"}).Draw(t, "group")
	return []byte(group + fmt.Sprint(rapid.IntRange(0, 30).Draw(t, "rest"))), len(group)
}

// TestKeepers holds what keeps rows, in memory and over a state, against a map.
func TestKeepers(t *testing.T) {
	path := &Path{ID: 7, Prefix: 1}
	name := func(key string) string { return string((&overlay{}).name(path, []byte(key))) }
	rapid.Check(t, func(t *rapid.T) {
		mem, state, out := NewMem(), mapState{}, &Out{}
		over := &overlay{state: state, out: out}
		model := map[string]string{}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			key, cut := drawKey(t)
			value := []byte(rapid.SampledFrom([]string{"", "1", "22"}).Draw(t, "value"))
			was, known := model[string(key)]
			switch rapid.IntRange(0, 4).Draw(t, "do") {
			case 0, 1:
				for _, k := range []keeper{mem, over} {
					if kept, old, found := k.add(path, key, cut, value); found != known || old != was || !found && kept.whole() != string(key) {
						t.Fatalf("%T: add %s: kept %q, old %q, found %t; it was %q, %t", k, key, kept.whole(), old, found, was, known)
					}
				}
				if !known {
					model[string(key)] = string(value)
				}
			case 2:
				if known {
					mem.set(path, key, cut, value)
					over.set(path, key, cut, value)
					model[string(key)] = string(value)
				}
			case 3:
				state.commit(out)
				out.Reset()
				over.committed()
			case 4:
				for _, k := range []keeper{mem, over} {
					got := map[string]string{}
					k.scan(path, key[:cut], func(key, value string) bool {
						if _, twice := got[key]; twice {
							t.Fatalf("%T: %s twice", k, key)
						}
						got[key] = value
						return true
					})
					want := maps.Clone(model)
					maps.DeleteFunc(want, func(k, _ string) bool { return !strings.HasPrefix(k, string(key[:cut])) })
					if !maps.Equal(got, want) {
						t.Fatalf("%T: rows of %s: %v, want %v", k, key[:cut], got, want)
					}
				}
			}
		}
		for key, value := range model {
			for _, k := range []keeper{mem, over} {
				if v, ok := k.get(path, []byte(key)); !ok || v != value {
					t.Fatalf("%T: %s is %q, %t; want %q", k, key, v, ok, value)
				}
			}
		}
		state.commit(out)
		if len(state) != len(model) || mem.Len() != len(model) {
			t.Fatalf("%d keys in the state, %d in memory, want %d", len(state), mem.Len(), len(model))
		}
		// As a State, a Mem is what was committed.
		var keys []string
		if err := mem.Scan([]byte(name("a/")), []byte(name("bb/")), func(key, value []byte) bool {
			keys = append(keys, string(key))
			if string(value) != state[string(key)] {
				t.Fatalf("%s is %q, want %q", key, value, state[string(key)])
			}
			return true
		}); err != nil || !slices.IsSorted(keys) {
			t.Fatalf("scan: %q, %v", keys, err)
		}
		for key := range state {
			if (key >= name("a/") && key < name("bb/")) != slices.Contains(keys, key) {
				t.Fatalf("scan of a and b: %q, want %q in it or not", keys, key)
			}
		}
	})
}

func TestMemForgets(t *testing.T) {
	m := NewMem()
	key := []byte{0, 3, 'x'}
	if err := m.Set(key, []byte("1")); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(key); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := m.Get(key); ok || m.Len() != 0 {
		t.Error("a deleted key is still there")
	}
	if err := m.Set(key, []byte("2")); err != nil {
		t.Fatal(err)
	}
	if v, ok, _ := m.Get(key); !ok || !bytes.Equal(v, []byte("2")) {
		t.Errorf("set again: %q, %t", v, ok)
	}
}

// Rows that are added during a walk must not disturb it.
func TestWalksWhileRowsCome(t *testing.T) {
	m, path := NewMem(), &Path{ID: 1, Prefix: 1}
	add := func(i int) {
		key := fmt.Appendf(nil, "g/%d", i)
		m.add(path, key, 2, nil)
	}
	for i := range 100 {
		add(i)
	}
	n := 0
	m.scan(path, []byte("g/"), func(string, string) bool {
		n++
		for i := range 50 {
			add(1000*n + i)
		}
		return true
	})
	if n != 100 || m.Len() != 100+100*50 {
		t.Errorf("met %d rows of 100; %d are kept", n, m.Len())
	}
}

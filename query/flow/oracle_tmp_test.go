package flow_test

import "weir/query"

const onlyPlain = true

func (m *meaning) plain(t *query.Table) bool {
	if t.Level > 0 {
		return false
	}
	bad := func(name string) bool {
		for _, r := range m.rules[name] {
			if r.Class != query.Plain {
				return true
			}
		}
		return false
	}
	if bad(t.Name) {
		return false
	}
	for n := range m.needs[t.Name] {
		if bad(n) {
			return false
		}
	}
	for n := range m.needs["crawl"] {
		if bad(n) {
			return false
		}
	}
	return true
}

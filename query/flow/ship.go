package flow

// Ship calls fn for every row that the Part keeps, as it would be sent to a Part of
// the same plan that is shared by so many partitions, until fn returns false. One
// that takes all of them knows what this one does: what follows from them it finds
// out itself.
func (x *Part) Ship(of int, fn func(Tuple) bool) error {
	totals := make([]bool, len(x.plan.Stores)) // they follow from what pools have gathered
	for _, r := range x.plan.Rules {
		for _, p := range r.Pools {
			if p.Totals != nil {
				totals[p.Totals.ID] = true
			}
		}
	}
	more := true
	for _, st := range x.plan.deniedFirst(x.plan.Stores) {
		if totals[st.ID] || st.Passes {
			continue
		}
		x.db.sorted(st.Paths[0], nil, func(key, value string) bool {
			row := st.appendRow(nil, []byte(key), []byte(value))
			more = fn(Tuple{To: x.plan.place(st, key, value, of), Input: st.ID, Row: row})
			return more
		})
		if !more {
			break
		}
	}
	return x.failed()
}

// place is where a row of a store lives, of so many partitions.
func (p *Plan) place(st *Store, key, value string, of int) int {
	column := 0
	switch {
	case st.Small || st.rules():
		return Everywhere
	case st.Pool != nil && len(st.Pool.Group) == 0:
		return 0
	case st.Pool != nil:
		column = st.Pool.home
	}
	return p.Options.Home(st.Types[column], st.row(key, value)[column], of)
}

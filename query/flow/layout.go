package flow

import (
	"fmt"
	"strings"

	"weir/page"
)

// rowForm counts the ways in which rows were packed, see codec.go.
const rowForm = 1

// Layout stands for how the plan keeps rows: under which numbers, in which
// columns, and which rows at all. What one plan has kept, another one of the same
// program may read only if its layout is the same; another build of weir may
// compile it to another.
func (p *Plan) Layout() uint64 {
	var b strings.Builder
	fmt.Fprintln(&b, rowForm, p.Options.Scheme, p.Options.Spread)
	for _, st := range p.Stores {
		fmt.Fprintln(&b, st.Name(), st.Columns, st.Types, st.Lattice, st.Passes, st.Small, st.Hides, st.where)
		for _, w := range st.Writers {
			fmt.Fprintln(&b, "from rule", w.Rule.ID, w.show(w.Rule))
		}
		for _, pool := range []*Pool{st.Pool, st.Sums} {
			if pool != nil {
				fmt.Fprintln(&b, "of rule", pool.Rule.ID, pool.Term, pool.Group)
			}
		}
		for _, path := range st.Paths {
			fmt.Fprintln(&b, "path", path.ID, path.Columns)
		}
	}
	return page.Sum(b.String())
}

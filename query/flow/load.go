package flow

import (
	"fmt"

	"weir/page"
	"weir/query"
)

// Load gives an input its rows, before the first Part is made.
func (p *Plan) Load(t *query.Table, rows []Row) error {
	if t.Kind != query.File {
		return fmt.Errorf("%s is not an input", t.Name)
	}
	h := p.files[t.ID]
	if h == nil {
		return nil // no rule of the plan reads it
	}
	for i, row := range rows {
		if len(row) != t.Arity() {
			return fmt.Errorf("%s has %d columns, and row %d has %d", t.Name, t.Arity(), i+1, len(row))
		}
		own := append(Row(nil), row...)
		for c, typ := range t.Types {
			if typ != query.URL {
				continue
			}
			u, err := page.Parse(row[c].S)
			if err != nil {
				return fmt.Errorf("row %d of %s, column %d: %w", i+1, t.Name, c+1, err)
			}
			own[c].S = u.String()
		}
		h.put(own)
	}
	return nil
}

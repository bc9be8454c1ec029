package draw

import (
	"encoding/json"

	"weir/query/flow"
)

// JSON writes a plan for programs, with the text that it was made from. Names are
// for programs: add, never rename.
func JSON(g *flow.Graph, program string) ([]byte, error) {
	type operator struct {
		ID     int      `json:"id"`
		Kind   string   `json:"kind"`
		Detail string   `json:"detail"`
		Key    string   `json:"key,omitempty"`
		Stores []string `json:"stores,omitempty"`
		Table  string   `json:"table,omitempty"`
		Final  bool     `json:"final"`
	}
	out := struct {
		Program   string     `json:"program"`
		Scheme    string     `json:"scheme"`
		Operators []operator `json:"operators"`
		Edges     [][2]int   `json:"edges"`
		Exchanges [][2]int   `json:"exchanges"` // those of the edges on which rows may change partitions
	}{Program: program, Scheme: g.Scheme.String(), Operators: []operator{}, Edges: [][2]int{}, Exchanges: [][2]int{}}
	for _, o := range g.Operators {
		out.Operators = append(out.Operators, operator{o.ID, o.Kind, o.Detail, o.Key, o.Stores, o.Table, o.Final})
	}
	for _, e := range g.Edges {
		out.Edges = append(out.Edges, [2]int{e.From, e.To})
		if e.Exchange {
			out.Exchanges = append(out.Exchanges, [2]int{e.From, e.To})
		}
	}
	b, err := json.Marshal(out)
	return append(b, '\n'), err
}

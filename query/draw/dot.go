package draw

import (
	"fmt"
	"strings"

	"weir/query/flow"
)

// DOT writes a plan for Graphviz. Exchanges are thick edges, what closes the
// circle is dashed.
func DOT(g *flow.Graph) string {
	var b strings.Builder
	b.WriteString("digraph plan {\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n")
	for _, o := range g.Operators {
		label := []string{fmt.Sprintf("%d %s", o.ID, o.Kind)}
		label = append(label, wrap(tame(o.Detail), 36)...)
		if note := note(o); note != "" {
			label = append(label, note)
		}
		style := ""
		switch {
		case o.Kind == flow.OpExchange:
			style = ", shape=cds, penwidth=2"
		case o.Final:
			style = ", style=dashed"
		}
		fmt.Fprintf(&b, "  n%d [label=%s%s];\n", o.ID, quoteDOT(label), style)
	}
	for _, e := range g.Edges {
		var style []string
		if e.Exchange {
			style = append(style, "penwidth=3")
		}
		if e.Back {
			style = append(style, "style=dashed", "constraint=false")
		}
		with := ""
		if len(style) > 0 {
			with = " [" + strings.Join(style, ", ") + "]"
		}
		fmt.Fprintf(&b, "  n%d -> n%d%s;\n", e.From, e.To, with)
	}
	b.WriteString("}\n")
	return b.String()
}

// note says in a few words where a box is, what it keeps and when it runs.
func note(o flow.Operator) string {
	var parts []string
	if o.Key != "" {
		parts = append(parts, "at "+o.Key)
	}
	if len(o.Stores) > 0 {
		parts = append(parts, "keeps "+strings.Join(o.Stores, ", "))
	}
	if o.Final {
		parts = append(parts, "final")
	}
	return tame(strings.Join(parts, "; "))
}

// quoteDOT makes one label of lines that are flush left.
func quoteDOT(lines []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	var b strings.Builder
	b.WriteByte('"')
	for _, l := range lines {
		b.WriteString(escape.Replace(l) + `\l`)
	}
	return b.String() + `"`
}

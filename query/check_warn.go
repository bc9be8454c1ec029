package query

// marks finds the tables that are declared live or small.
func (c *checker) marks() {
	for _, m := range c.prog.Lives {
		t := c.marked(m, "live")
		if t == nil {
			continue
		}
		t.Live = true
		if t.Level > 0 && !c.blamed[c.group[t.ID]] {
			c.late(t.Name+" is declared live, but it depends", t)
		}
	}
	for _, m := range c.prog.Smalls {
		t := c.marked(m, "small")
		if t == nil {
			continue
		}
		t.Small = true
		for _, l := range t.Lattice {
			if l != Each {
				c.fail(m.Pos, "derive from it a table without that column, and declare that one small", "%s has a %s column, so it cannot be small", t.Name, l)
				break
			}
		}
		if t.Level > 0 && !c.blamed[c.group[t.ID]] {
			c.late(t.Name+" is declared small, and small tables steer the crawl, but it depends", t)
		}
	}
}

// marked returns the table that a declaration names, or nil if it makes no sense.
func (c *checker) marked(m *Mark, how string) *Table {
	t := c.byName[m.Table]
	switch {
	case t == nil:
		names := make([]string, 0, len(c.tables))
		for _, t := range c.tables {
			if t.Kind == Derived {
				names = append(names, t.Name)
			}
		}
		hint := "declare tables that rules derive"
		if near := Nearest(m.Table, names); near != "" {
			hint = "did you mean " + near + "?"
		}
		c.fail(m.Pos, hint, "there is no table %s to be %s", m.Table, how)
		return nil
	case t.Kind == File:
		c.fail(m.Pos, "leave the declaration out", "%s is an input: all of it is known everywhere from the start", m.Table)
		return nil
	case t.Kind != Derived:
		c.fail(m.Pos, "derive a table from it, and declare that one "+how, "%s comes from the crawler, so it cannot be declared %s", m.Table, how)
		return nil
	case how == "small" && orderNamed(m.Table) != nil:
		c.fail(m.Pos, "", "%s goes to the crawler, so it cannot be small", m.Table)
		return nil
	}
	return t
}

func (c *checker) warn() {}

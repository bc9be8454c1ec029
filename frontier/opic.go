package frontier

// OPIC takes the page with the most cash, whatever its site (Abiteboul et al.
// 2003). See SiteOPIC for where cash comes from.
type OPIC struct{ SiteOPIC }

func (OPIC) Name() string { return "opic" }

func (OPIC) Site(v View) int64 { return int64(v.Head.Class) }

package frontier

// Optimal takes the page with the highest final rank, which an oracle knows
// (Castillo, section 6.3, "Optimal"): the scores come from outside, and stay as
// they are. Only a simulated web has one.
type Optimal struct{ Score }

func (Optimal) Name() string { return "optimal" }

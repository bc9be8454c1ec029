package query

// step says that a group counts its rounds, and gives its tables their step
// columns.
func (c *checker) step(g int, edges []*edge) bool {
	return false
}

package query

func (c *checker) terminate() {}

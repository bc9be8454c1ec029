package query

func (p *parser) patterns() {}

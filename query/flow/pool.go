package flow

// solved takes a solution of a sealed aggregate's body.
func (x *Part) solved(p *Pool, row Row) {}

// seal works out the sealed aggregates of a page that was delivered.
func (x *Part) seal() {}

// pooled takes a new row of a pool.
func (x *Part) pooled(p *Pool, key string) {}

package sim

// kind says what happens.
type kind uint8

const (
	firstByte kind = iota // a server begins to send: arg is the flow
	tick                  // the Engine wanted to be woken; counts only when arg is the last one asked for
	flush                 // what was learned becomes durable
	wire                  // the line is looked at
	ranked                // a ranking is ready
	planned               // a plan is ready
	changed               // a site's speed: arg is which change. It happens to all crawls
)

// thing is something that will happen to a crawl.
type thing struct {
	arg  uint32
	who  uint16 // which crawl
	what kind
}

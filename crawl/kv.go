package crawl

// KV is the durable state as of the last commit. Values may be kept.
type KV interface {
	Get(key []byte) (value []byte, ok bool, err error)
	// Scan calls fn for the keys from lower up to but not including upper,
	// in order, until fn returns false. Key and value hold during the call.
	Scan(lower, upper []byte, fn func(key, value []byte) bool) error
	// Find calls fn for those of the keys that are there, with their place.
	// Keys are in order. The value holds during the call.
	Find(keys [][]byte, fn func(i int, value []byte)) error
}

// Writer collects what the next commit makes durable. It copies what it is
// given: keys and values are the caller's again when the call returns.
type Writer interface {
	Set(key, value []byte)
	Delete(key []byte)
}

// after returns the smallest key that is larger than all with this prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

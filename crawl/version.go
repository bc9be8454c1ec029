package crawl

import "fmt"

var programKey = []byte("mprogram")

// ReadProgram returns which version of its program a stored crawl runs, and
// whether it has begun.
func ReadProgram(kv KV) (version int, begun bool, err error) {
	b, ok, err := kv.Get(programKey)
	if err != nil || !ok {
		return 0, false, err
	}
	if len(b) != 1 {
		return 0, false, fmt.Errorf("read the program's version: %w", errRow)
	}
	return int(b[0]), true, nil
}

// WriteProgram keeps which version of its program a crawl runs.
func WriteProgram(w Writer, version int) { w.Set(programKey, []byte{byte(version)}) }

package crawl

import "fmt"

var lendsKey = []byte("mlends")

// ReadLends returns the name in which a crawl asks servers that lends its pages to
// others, "" for one that does not.
func ReadLends(kv KV) (string, error) {
	b, _, err := kv.Get(lendsKey)
	if err != nil {
		return "", fmt.Errorf("read whether the crawl lends its pages: %w", err)
	}
	return string(b), nil
}

// WriteLends keeps it.
func WriteLends(w Writer, name string) { w.Set(lendsKey, []byte(name)) }

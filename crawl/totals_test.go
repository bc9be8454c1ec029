package crawl

import (
	"encoding/json"
	"reflect"
	"testing"
)

// The totals' row is read with encoding/json: what is written must be the same,
// whatever fields are added.
func TestTotalsRow(t *testing.T) {
	var tt Totals
	v := reflect.ValueOf(&tt).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Uint32:
			f.SetUint(uint64(i + 1))
		case reflect.Int64:
			f.SetInt(int64(-i) * 1e12)
		case reflect.Array:
			for j := range f.Len() {
				f.Index(j).SetInt(int64(j * j))
			}
		}
	}
	for _, tt := range []Totals{{}, tt} {
		want, err := json.Marshal(tt)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.append(nil); string(got) != string(want) {
			t.Errorf("written %s, want %s", got, want)
		}
	}
}

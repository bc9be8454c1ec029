package parse

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSrcset(t *testing.T) {
	for _, tc := range []struct{ set, want string }{
		{"a", "a"},
		{"a.png, b.png 2x", "a.png b.png"},
		{"a 1x,b 2x", "a b"},
		{"a,b", "a,b"}, // a comma inside an address is its own
		{"a, b", "a b"},
		{"a,, ,b", "a b"},
		{",a,", "a"},
		{"  ,  a  100w , b\t200w\n", "a b"},
		{"w_100,h_50/a.png 1.5x, w_200,h_100/a.png 2x", "w_100,h_50/a.png w_200,h_100/a.png"},
		{"a ( , b 1x, ), c", "c"}, // a parenthesis hides commas, and is no size
		{"a 1x (x,y), b", "b"},
		{"a 100w 50h, b 1e2x", "a b"},
		{"a 1q, b x, c w, d -w, e 2x", "e"},
		{"", ""},
		{", ,", ""},
	} {
		var got []string
		for set := []byte(tc.set); len(set) > 0; {
			var ref []byte
			if ref, set = candidate(set); len(ref) > 0 {
				got = append(got, string(ref))
			}
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%q: %q, want %q", tc.set, s, tc.want)
		}
	}
}

// Every set of addresses without spaces or commas at their edges can be written
// as a srcset and read again.
func TestSrcsetReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs := rapid.SliceOf(rapid.StringMatching(`[a-z/:?][a-z,/:?=]{0,8}[a-z/]`)).Draw(t, "refs")
		var set strings.Builder
		for _, r := range refs {
			set.WriteString(r + rapid.SampledFrom([]string{" 1x, ", " 300w,", ", ", " ,"}).Draw(t, "end"))
		}
		var got []string
		for s := []byte(set.String()); len(s) > 0; {
			var ref []byte
			if ref, s = candidate(s); len(ref) > 0 {
				got = append(got, string(ref))
			}
		}
		if len(refs) > 0 && !reflect.DeepEqual(got, refs) {
			t.Fatalf("%q: %q, want %q", set.String(), got, refs)
		}
	})
}

func TestRefresh(t *testing.T) {
	for _, tc := range []struct{ content, want string }{
		{"0; url=x", "x"},
		{"0;URL='x y'; more", "x y"},
		{`5 , Url = "x"`, "x"},
		{"0 url=x", "x"},
		{" 1.5.2;url=x", "x"},
		{".5;url=x", "x"},
		{"0;x", "x"},
		{"0; 'x'", "x"},
		{"0;up.html", "up.html"},
		{"0;url", "url"},
		{"0;url x", "url x"},
		{"0;url='x", "x"},
		{"0;url=", ""},
		{"0;url=''", ""},
		{"0", ""},
		{"0;", ""},
		{"", ""},
		{"x", ""},
		{"url=x", ""},
		{"-1;url=x", ""},
		{"0x;url=x", ""},
		{"0;;url=x", ";url=x"},
	} {
		ref, ok := refresh([]byte(tc.content))
		if string(ref) != tc.want && (ok || tc.want != "") {
			t.Errorf("%q: %q, want %q", tc.content, ref, tc.want)
		}
		if ok != (tc.want != "") {
			t.Errorf("%q: %v", tc.content, ok)
		}
	}
}

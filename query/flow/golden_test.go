package flow

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write golden files anew")

// TestPlans holds the plans of the example programs, by URL and by host, to what
// a person has read and found right.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("../testdata/programs/*.dl")
	if err != nil || len(files) < 30 {
		t.Fatalf("programs: %d of them, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".dl")
		t.Run(name, func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			byURL := compile(t, string(src), Options{}).String()
			byHost := compile(t, string(src), Options{Scheme: ByHost}).String()
			live := compile(t, string(src), Options{Crawl: true}).String()
			got := "-- by url --\n" + byURL
			for _, also := range []struct{ name, plan string }{{"by host", byHost}, {"during a crawl", live}} {
				if also.plan == byURL {
					got += "-- " + also.name + ": the same --\n"
				} else {
					got += "-- " + also.name + " --\n" + also.plan
				}
			}
			golden := filepath.Join("testdata", "plans", name+".txt")
			if *rewrite {
				if err := os.MkdirAll(filepath.Dir(golden), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the plan has changed (go test -run TestPlans -rewrite):\n%s", got)
			}
		})
	}
}

package rules

import (
	"bytes"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"testing"
)

// fused is an instruction that adds a product without rounding it first, and the
// line that it was compiled from.
var fused = regexp.MustCompile(`\(([^()]*\.go:[0-9]+)\)\s+FN?M(?:ADD|SUB)`)

// The core's numbers are the same on every machine: no product is added to anything
// unrounded, which compilers may do where the machine can, as arm64, and amd64 is
// not let. A conversion, float64(a*b) + c, forbids it.
func TestCoreRoundsAlike(t *testing.T) {
	args := []string{"build", "-gcflags=-S"}
	for _, r := range table {
		if _, err := os.Stat(path.Join("../..", r.dir)); r.core && err == nil {
			args = append(args, "./"+r.dir)
		}
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
	var lines []string
	for line := range bytes.Lines(out) {
		if !bytes.Contains(line, []byte("\tF")) {
			continue // nearly all of many millions of bytes
		}
		if m := fused.FindSubmatch(line); m != nil {
			lines = append(lines, string(m[1]))
		}
	}
	slices.Sort(lines)
	for _, l := range slices.Compact(lines) {
		t.Errorf("%s: a product is added unrounded on arm64: write float64(a*b) + c", l)
	}
}

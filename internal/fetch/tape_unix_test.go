//go:build unix

package fetch

import (
	"os"
	"strings"
	"testing"
)

// A long body waits in a file that has no name, so that nothing is left behind
// when the process is killed.
func TestSpoolHasNoName(t *testing.T) {
	cfg := local()
	cfg.TempDir = t.TempDir()
	a := get(t, cfg, serve(t, says(ok+"\r\n"+strings.Repeat("x", 2<<20))), "/")
	names, err := os.ReadDir(cfg.TempDir)
	if err != nil || len(names) > 0 || a.tape.file == nil || a.PayloadSize != 2<<20 {
		t.Errorf("the temporary folder holds %v (%v); %d bytes came", names, err, a.PayloadSize)
	}
}

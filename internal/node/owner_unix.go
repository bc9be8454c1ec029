//go:build unix

package node

import (
	"io/fs"
	"os"
	"syscall"
)

// ours says that a file belongs to the user who runs us.
func ours(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

package standin

import (
	"io/fs"
	"os"
	"syscall"
)

// WriteProgram writes a program that a test starts, as os.WriteFile does. Nothing is
// forked meanwhile: a child that inherits the open file keeps it open until it executes
// its own program, and who starts this one before then is told "text file busy"
// (go.dev/issue/22315).
func WriteProgram(path string, content []byte, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, mode)
}

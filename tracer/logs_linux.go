package tracer

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeOut gives a part of a file back to the file system. The file keeps its length.
func takeOut(f *os.File, from, length int64) error {
	return unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, from, length)
}

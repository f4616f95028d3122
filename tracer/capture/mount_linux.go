package capture

import "golang.org/x/sys/unix"

// executable reports whether code may be mapped from files of a directory.
func executable(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.ST_NOEXEC == 0
}

// freeBytes is what a directory's file system has left for us.
func freeBytes(dir string) uint64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Bsize <= 0 {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}

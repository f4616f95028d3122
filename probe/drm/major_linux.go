package drm

import "golang.org/x/sys/unix"

// deviceMajor follows a link and returns the major number of the character
// device behind it.
func deviceMajor(path string) (uint32, bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
		return 0, false
	}
	return unix.Major(st.Rdev), true
}

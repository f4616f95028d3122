package ttmetal

// process is who an allocation is charged to.
type process struct {
	pid   int32  // what the program calls itself, shown to people
	owner int32  // what this system calls it; 0 or less is not known
	start uint64 // when it started, in units of the system; 0 is not known
}

// Processes asks the system about processes. Its methods may be called from
// any number of goroutines.
type Processes interface {
	// Gone reports whether there certainly is no process of that number. A
	// process that may not be looked at is there.
	Gone(pid int32) bool
	// Start is a number that differs between two processes that had the same
	// pid one after the other; 0 when it is not known.
	Start(pid int32) uint64
}

// System is this system's processes.
type System struct{}

// dead reports whether the process that was charged is no more: gone, or its
// number belongs to one that started at another time.
func dead(sys Processes, owner int32, start uint64) bool {
	if owner <= 0 {
		return false
	}
	if sys.Gone(owner) {
		return true
	}
	if start == 0 {
		return false
	}
	now := sys.Start(owner)
	return now != 0 && now != start
}

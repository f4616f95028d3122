package procfs

import "os"

// initialNamespace is the inode of the first pid namespace, a constant of the
// kernel's interface (PROC_PID_INIT_INO).
const initialNamespace = "pid:[4026531836]"

// Inner reports whether we run in a pid namespace of our own, as in a container:
// a driver may then know processes by other pids than we do.
func (d Dir) Inner() bool {
	ns, err := os.Readlink(d.Process("self/ns/pid"))
	return err == nil && ns != initialNamespace
}

package procfs

import "golang.org/x/sys/unix"

// readHead fills buf from a file, by system calls alone: a scan of the machine
// reads some thousand of them.
func readHead(path string, buf []byte) (int, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := unix.Read(fd, buf[total:])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return total, nil
		}
		total += n
	}
	return total, nil
}

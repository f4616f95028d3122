package children

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// hangUp, as a key, is the end of the terminal.
const hangUp = "hang up"

// typed starts a command on a terminal of its own, types the keys, and returns
// what the terminal showed, with plain newlines.
func typed(cmd *exec.Cmd, keys []key) (*bytes.Buffer, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	err = cmd.Start()
	slave.Close()
	if err != nil {
		master.Close()
		return nil, err
	}
	shown := make(chan []byte)
	go func() {
		defer close(shown)
		for {
			piece := make([]byte, 4096)
			n, err := master.Read(piece) // EIO at the end
			if n > 0 {
				shown <- piece[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	all := follow(master, shown, keys)
	master.Close()
	for range shown { // what came after it hung up is lost
	}
	text := strings.ReplaceAll(all, "\r\n", "\n")
	return bytes.NewBufferString(text), cmd.Wait()
}

// follow types each key once the terminal has shown what it waits for.
func follow(master *os.File, shown <-chan []byte, keys []key) string {
	var all strings.Builder
	from, late := 0, time.After(patience)
	for {
		for len(keys) > 0 && strings.Contains(all.String()[from:], keys[0].after) {
			from += strings.Index(all.String()[from:], keys[0].after) + len(keys[0].after)
			if keys[0].typed == hangUp {
				return all.String()
			}
			_, _ = master.WriteString(keys[0].typed) // a terminal whose program has ended
			keys = keys[1:]
		}
		select {
		case piece, open := <-shown:
			if !open {
				return all.String()
			}
			all.Write(piece)
		case <-late:
			for _, k := range keys {
				fmt.Fprintf(&all, "\nnever shown: %s\n", k.after)
			}
			keys, late = nil, nil
		}
	}
}

// openTerminal makes a terminal. The master is read without blocking a thread,
// so that it can be closed at any time.
func openTerminal() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

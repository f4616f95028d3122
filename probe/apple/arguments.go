package apple

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// Arguments are what a program was started with.
type Arguments struct {
	Path    string
	Command []string
	Env     []string // NAME=value; empty where the system hides it
}

// maxStrings bounds what is taken of the arguments: the kernel's own limit is
// 1 MiB for all of them.
const maxStrings = 1 << 16

// ParseArguments takes the value of the sysctl kern.procargs2 apart: the number
// of arguments, the path, zeros, the arguments, the environment (XNU,
// bsd/kern/kern_sysctl.c). The kernel may cut it off at any place.
func ParseArguments(b []byte) (Arguments, error) {
	if len(b) < 4 {
		return Arguments{}, errors.New("arguments of a process: too short")
	}
	count := int(int32(binary.LittleEndian.Uint32(b)))
	path, rest, _ := bytes.Cut(b[4:], []byte{0})
	a := Arguments{Path: string(path)}
	if count < 0 {
		return a, errors.New("arguments of a process: a negative number of them")
	}
	rest = bytes.TrimLeft(rest, "\x00")
	for len(rest) > 0 && len(a.Command) < min(count, maxStrings) {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte{0})
		a.Command = append(a.Command, string(one))
	}
	for len(rest) > 0 && len(a.Env) < maxStrings {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte{0})
		if len(one) == 0 {
			break // behind the environment stand strings of the loader's
		}
		a.Env = append(a.Env, string(one))
	}
	return a, nil
}

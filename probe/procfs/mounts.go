package procfs

import (
	"bytes"
	"strconv"
)

// Device is the number of a file system, as files of /proc name it. The zero value is
// no device's.
type Device struct{ Major, Minor uint32 }

// deviceOf reads the two halves of a device's number; the zero value where they are none.
func deviceOf(major, minor []byte, base int) Device {
	a, err := strconv.ParseUint(string(major), base, 32)
	b, err2 := strconv.ParseUint(string(minor), base, 32)
	if err != nil || err2 != nil {
		return Device{}
	}
	return Device{uint32(a), uint32(b)}
}

// ParseMounts reads /proc/PID/mountinfo: the type of the file system of each device.
// Lines of another form are left out.
func ParseMounts(b []byte) map[Device]string {
	out := map[Device]string{}
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		// id parent major:minor root place options fields - type source options
		head, tail, ok := bytes.Cut(line, []byte(" - "))
		fields := bytes.Fields(head)
		kind := bytes.Fields(tail)
		if !ok || len(fields) < 3 || len(kind) == 0 {
			continue
		}
		if major, minor, ok := bytes.Cut(fields[2], []byte(":")); ok {
			if d := deviceOf(major, minor, 10); d != (Device{}) {
				out[d] = string(kind[0])
			}
		}
	}
	return out
}

package selftest

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// systemFacts are what a ticket needs to know of the machine; nothing that
// names it or its user.
func systemFacts() map[string]string {
	facts := map[string]string{}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		facts["os"] = "Linux " + unix.ByteSliceToString(u.Release[:])
	}
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return facts
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			facts["chip"] = strings.TrimSpace(value)
			break
		}
	}
	return facts
}

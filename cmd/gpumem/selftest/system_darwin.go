package selftest

import "golang.org/x/sys/unix"

// systemFacts are what a ticket needs to know of the machine; nothing that
// names it or its user.
func systemFacts() map[string]string {
	facts := map[string]string{}
	for name, key := range map[string]string{
		"os": "kern.osproductversion", "kernel": "kern.osrelease", "model": "hw.model",
		"chip": "machdep.cpu.brand_string",
	} {
		if v, err := unix.Sysctl(key); err == nil {
			facts[name] = v
		}
	}
	if facts["os"] != "" {
		facts["os"] = "macOS " + facts["os"]
	}
	return facts
}

//go:build !darwin && !linux

package selftest

// systemFacts are what a ticket needs to know of the machine beyond the
// platform; nothing here.
func systemFacts() map[string]string { return map[string]string{} }

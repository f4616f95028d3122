//go:build !linux || !(amd64 || arm64)

package attach

// Python is for Linux on x86-64 and arm64.
func Python(int, string, Put) (*Entry, error) {
	return nil, &Refusal{Why: "gpumem cannot enter a running process on this system"}
}

// Free is for Linux on x86-64 and arm64.
func (e *Entry) Free() error { return nil }

// Withdraw is for Linux on x86-64 and arm64.
func (e *Entry) Withdraw() bool { return false }

// Inside is for Linux on x86-64 and arm64.
func Inside(int) string { return "" }

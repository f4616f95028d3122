//go:build unix

package soft

// reserveMemory maps n bytes of which parts are used.
func reserveMemory(n int) ([]byte, error) {
	p, err := mapMemory(n)
	if err == nil {
		smallPages(p)
	}
	return p, err
}

// commitMemory makes a part of reserved memory usable: here it always is.
func commitMemory([]byte) error { return nil }

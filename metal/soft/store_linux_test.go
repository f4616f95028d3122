package soft

import (
	"bytes"
	"os"
	"testing"
)

// 150,000 regions with a hole after each would need 75,000 mappings of their
// own, more than a Linux process may have.
func TestHolesBetweenBuffersDoNotUseUpTheMappings(t *testing.T) {
	t.Parallel() // after the tests that read the resident size
	const n = 150_000
	var s store
	before := mappings(t)
	regions := make([]region, n)
	for i := range regions {
		var err error
		if regions[i], err = s.get(pageSize); err != nil {
			t.Fatal(err)
		}
	}
	for half := range 2 {
		for i := half; i < n; i += 2 {
			if err := s.put(regions[i]); err != nil {
				t.Fatal(err)
			}
		}
		if grown := mappings(t) - before; grown > 1000 {
			t.Errorf("%d mappings more after half %d was given back", grown, half)
		}
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}

func mappings(t *testing.T) int {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(maps, []byte{'\n'})
}

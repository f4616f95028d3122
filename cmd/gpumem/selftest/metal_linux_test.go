package selftest

import (
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/internal/loader/standin"
)

func TestObjectsWithoutAPoolAreWrong(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "complains")
	// The runtime's own words, as OBJC_DEBUG_MISSING_POOLS makes it print them.
	script := `#!/bin/sh
echo '{"name":"x","driver":"apple"}'
while read word; do
	echo 'objc[7]: MISSING POOLS: (0x1) Object 0x2 of class NSString autoreleased with no pool in place - just leaking' >&2
	echo '{}'
done
`
	if err := standin.WriteProgram(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := quietTester()
	s.self = program
	s.checkTools(t.Context(), device.Apple)
	last := s.report.Checks[len(s.report.Checks)-1]
	if last.Check != "no object without an autorelease pool" || last.Result != Wrong || s.report.OK {
		t.Errorf("%+v", last)
	}
}

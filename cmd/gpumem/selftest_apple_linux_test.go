//go:build linux && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gpumem/gpumem/metal/apple/appletest"
)

func TestSelftestChecksAMetalDeviceOnTheFake(t *testing.T) {
	t.Parallel()
	library, err := appletest.Make(t.TempDir(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	r, got := checked(t, []string{metalLibrary + "=" + library}, "--device", "apple", "--gpu", "none", "--size", "32MiB")
	if got.code != 0 {
		t.Errorf("exit code %d\n%s", got.code, got.stdout)
	}
	for _, check := range []string{
		"allocates 32.0 MiB and runs a kernel", "the driver's counter grows", "the driver's counter falls", "footprint grows",
		"footprint falls", "survives Metal's debug layer", "no object without an autorelease pool",
	} {
		if c := find(r, "apple: ", check); c == nil || c.Result != okResult {
			t.Errorf("%s: %+v", check, c)
		}
	}
}

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
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := tester()
	s.self = program
	s.checkTools(t.Context(), appleDevice)
	c := find(*s.report, "", "no object without an autorelease pool")
	if c == nil || c.Result != wrongResult || s.report.OK {
		t.Errorf("%+v", c)
	}
}

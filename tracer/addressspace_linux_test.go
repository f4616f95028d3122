package tracer

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gpumem/gpumem/probe"
)

func TestTheLimitOfAddressSpaceIsReadWithTheMostThatWasInUse(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	const unlimited = "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max data size             1000                 unlimited            bytes     \n" +
		"Max address space         unlimited            unlimited            bytes     \n"
	const limited = "Max address space         819200000            unlimited            bytes     \n"
	for pid, c := range []struct {
		limits, status string
		limit, peak    int64
	}{
		{limited, "Name:\teat\nVmPeak:\t  700000 kB\nVmSize:\t  1 kB\n", 819200000, 700000 << 10},
		{unlimited, "VmPeak:\t  700000 kB\n", probe.Unknown, probe.Unknown},
		{limited, "Name:\tkthreadd\n", 819200000, probe.Unknown},
		{"", "", probe.Unknown, probe.Unknown},
		{"Max address space         99999999999999999999 bytes\n", "", probe.Unknown, probe.Unknown},
	} {
		dir := filepath.Join(root, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"limits": c.limits, "status": c.status} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if limit, peak := readAddressSpace(root, pid); limit != c.limit || peak != c.peak {
			t.Errorf("%d: %d of %d, want %d of %d", pid, peak, limit, c.peak, c.limit)
		}
	}
	if limit, _ := readAddressSpace(root, 99); limit != probe.Unknown {
		t.Errorf("a process that is not there has %d", limit)
	}
}

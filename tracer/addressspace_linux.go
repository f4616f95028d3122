package tracer

import (
	"bytes"
	"os"
	"strconv"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/procfs"
)

// readAddressSpace is how much address space a process may have, by its limit (ulimit
// -v), and the most that it has had; probe.Unknown for the limit where it has none, and
// for both where the system does not tell.
func readAddressSpace(proc string, pid int) (limit, peak int64) {
	dir := proc + "/" + strconv.Itoa(pid)
	limit, peak = probe.Unknown, probe.Unknown
	if text, err := os.ReadFile(dir + "/limits"); err == nil {
		limit = sizeAfter(text, "Max address space ", 1)
	}
	if limit == probe.Unknown {
		return limit, peak
	}
	if text, err := os.ReadFile(dir + "/status"); err == nil {
		peak = sizeAfter(text, "VmPeak:", 1<<10)
	}
	return limit, peak
}

// sizeAfter is the number behind a word at the beginning of a line, in a unit.
func sizeAfter(text []byte, word string, unit int64) int64 {
	for line := range bytes.Lines(text) {
		rest, ok := bytes.CutPrefix(line, []byte(word))
		if !ok {
			continue
		}
		n, _, ok := procfs.Number(bytes.TrimLeft(rest, " \t"))
		if !ok || n > 1<<60/unit {
			return probe.Unknown // unlimited
		}
		return n * unit
	}
	return probe.Unknown
}

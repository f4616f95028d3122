package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/importer"
)

func TestDumpListsTheBuffersOfASavedLogWithTheirStacks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, traces := filepath.Join(dir, "server.log"), filepath.Join(dir, "stacks.log")
	for path, text := range map[string]string{
		log: "✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x20)\n" +
			"✓ [PID 7] Allocated 100 bytes of DRAM on device 1 (buffer_id=0x40)\n" +
			"✗ [PID 7] Freed buffer 0x40 on device 1 (100 bytes, FINAL)\n" +
			"⚠ [PID 7] Deallocation for unknown buffer 0x40 on device 1 (allocated before tracking started)\n",
		traces: "=== TT-Metal Buffer Allocation Stack Traces ===\nPID: 7\n\n────\nAllocation #0\nDevice: 0\n" +
			"Type: L1\nSize: 4096 bytes (4 KB)\nAddress: 0x20\nStack trace:\n  ./demo : main+0x10\n\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := gpumem(t, dir, "dump", "--log", log, "--traces", traces)
	for _, want := range []string{
		"History: 2 buffers, 0 balanced, 1 leaked, 1 double-freed, 0 of changing size\n",
		"Stack traces: of 1 of 1 leaked buffers\n",
		"  Device 0: Buffer 0x20: 4 KiB of L1, allocated 1 time, freed 0 times (PID 7)\n" +
			"      last: ALLOC in line 1\n      allocated at:\n        ./demo : main+0x10\n",
		"Buffer 0x40: 100 B of DRAM, allocated 1 time, freed 2 times (PID 7)\n",
	} {
		if got.code != 0 || !strings.Contains(got.stdout, want) {
			t.Errorf("exit code %d, no %q in\n%s%s", got.code, want, got.stdout, got.stderr)
		}
	}
	var books importer.Books
	got = gpumem(t, dir, "dump", "--log", log, "--json")
	if err := json.Unmarshal([]byte(got.stdout), &books); err != nil || len(books.Leaked) != 1 {
		t.Errorf("%v: %s", err, got.stdout)
	}
	for _, args := range [][]string{{"--traces", traces}, {"--log", log, "a.json"}, {"--log", log, "--judge"}} {
		if got := gpumem(t, dir, append([]string{"dump"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: exit code %d", args, got.code)
		}
	}
}

func TestALogsChangeIsFromItsFirstRowToItsLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	alloc := func(id string) {
		b.WriteString("✓ [PID 7] Allocated 1048576 bytes of DRAM on device 0 (buffer_id=0x" + id + ")\n")
	}
	free := func(id string) {
		b.WriteString("✗ [PID 7] Freed buffer 0x" + id + " on device 0 (1048576 bytes, FINAL)\n")
	}
	letters := strings.Split("abcdef0123456789", "")
	alloc("1f")
	for _, l := range letters {
		alloc("1000" + l)
	}
	for range 20 {
		for _, l := range letters {
			free("1000" + l)
			alloc("1000" + l)
		}
	}
	for _, l := range letters {
		free("1000" + l)
	}
	for _, l := range letters[:5] {
		alloc("2000" + l)
	}
	path := filepath.Join(dir, "server.log")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	got := gpumem(t, dir, "report", path)
	if !strings.Contains(got.stdout, "measured  +5 MiB") ||
		!strings.Contains(got.stdout, "the last sample less the first one\n") {
		t.Errorf("a log that goes from 1 to 6 MiB:\n%s", got.stdout)
	}
}

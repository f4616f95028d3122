//go:build amd64 || arm64

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// refusedByDriver has a model of 3 MiB and keeps one MiB more until the driver refuses it;
// then it gives all back, waits and fails. With an argument it keeps nothing.
const refusedByDriver = `#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(uint64_t *, int);
int cuCtxSetCurrent(uint64_t);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
static uint64_t kept[64];
__attribute__((noinline)) int keep(int i) {
	int rc = cuMemAlloc_v2(&kept[i], 1 << 20);
	return rc + 0 * getpid();
}
int main(int argc, char **argv) {
	uint64_t context, model;
	int i, rc = 0;
	(void)argv;
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	cuMemAlloc_v2(&model, 3 << 20);
	for (i = 0; i < 64 && !(rc = keep(i)); i++)
		if (argc > 1) cuMemFree_v2(kept[i]);
	if (!rc) return 0;
	while (i-- > 0) cuMemFree_v2(kept[i]);
	usleep(500000);
	return 3;
}
`

func TestANativeProgramThatTheDriverRefusesMemoryIsToldWhyWhenAndWhatItHeld(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	program := onStubDriver(t, dir, refusedByDriver)
	env := append(noLibrary(t), "STUB_LIMIT=8912896") // 8.5 MiB
	got := gpumemEnv(t, dir, env, "run", "--inject", "preload", "--out", "out", "--", program)
	if got.code != 3 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	o := readVerdict(t, filepath.Join(dir, "out")).OOM
	if o == nil || o.Reason != peak.Driver || o.AskedBytes == nil || *o.AskedBytes != 1<<20 ||
		o.FreeBytes == nil ||
		*o.FreeBytes != 1<<19 || o.LiveBytes == nil || *o.LiveBytes != 8<<20 ||
		!strings.Contains(o.Site, "keep") {
		t.Fatalf("%+v\n%s", o, got.stderr)
	}
	if len(o.Composition) != 2 || o.Composition[0].Bytes != 5<<20 ||
		!strings.Contains(o.Composition[0].Name, "keep") || o.Composition[1].Bytes != 3<<20 {
		t.Errorf("held then: %+v", o.Composition)
	}
	run, err := record.Open(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	if end := run.Meta.End; end == nil || o.AtMs <= 0 ||
		o.AtMs > float64(end.Sub(run.Meta.Start).Milliseconds())-400 {
		t.Errorf("refused at %v ms of a run until %v", o.AtMs, end)
	}
	if !strings.Contains(got.stdout+got.stderr, "out of memory: the driver refused 1 MiB of device memory at ") {
		t.Errorf("the answer:\n%s%s", got.stdout, got.stderr)
	}
	twin := gpumemEnv(t, dir, env, "run", "--inject", "preload", "--out", "twin", "--", program, "healthy")
	if twin.code != 0 || readVerdict(t, filepath.Join(dir, "twin")).OOM != nil {
		t.Errorf("the twin: exit code %d\n%s%s", twin.code, twin.stdout, twin.stderr)
	}
}

// eater takes host memory until it is refused, 4 MiB in 10 ms; with an argument it fails
// soon and far from there.
const eater = `#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	(void)argv;
	for (int i = 0; argc < 2 || i < 8; i++, usleep(10000)) {
		char *p = malloc(4 << 20);
		if (!p) abort();
		memset(p, 1, 4 << 20);
	}
	return 1;
}
`

func TestANativeProgramThatIsRefusedHostMemoryIsToldItsLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "eater.c"), filepath.Join(dir, "eater")
	if err := os.WriteFile(source, []byte(eater), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-O1", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const limited = `ulimit -v 614400; exec "$@"`
	got := gpumem(t, dir, "run", "--out", "out", "--", "sh", "-c", limited, "sh", program)
	o := readVerdict(t, filepath.Join(dir, "out")).OOM
	// Where the machine is busy it takes so long that its growth is seen too.
	if got.code != 128+6 || o == nil || o.Reason != peak.Host && o.Reason != peak.Growing ||
		o.LimitBytes == nil || *o.LimitBytes != 600<<20 {
		t.Fatalf("exit code %d, %+v\n%s%s", got.code, o, got.stdout, got.stderr)
	}
	if !strings.Contains(got.stdout+got.stderr,
		"out of memory: it ended by SIGABRT when its address space had come to ") {
		t.Errorf("the answer:\n%s%s", got.stdout, got.stderr)
	}
	got = gpumem(t, dir, "run", "--out", "twin", "--", "sh", "-c", limited, "sh", program, "healthy")
	if got.code != 1 || readVerdict(t, filepath.Join(dir, "twin")).OOM != nil {
		t.Errorf("the twin: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

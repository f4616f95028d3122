//go:build gpu

package capture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// realDriver leaves out the tests that need NVIDIA's driver and a device.
// scripts/verify_capture_gpu.sh runs them.
func realDriver(t *testing.T, modules string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 here")
	}
	out, err := exec.Command(python, "-c", "import ctypes as c"+
		modules+"\nprint(c.CDLL('libcuda.so.1').cuInit(0))").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "0" {
		t.Skipf("no CUDA device with its driver here%s: %s", modules, lastOf(string(out)))
	}
	return python
}

const driverScript = `
import ctypes as c, sys
l = c.CDLL("libcuda.so.1")
def ok(rc):
    assert rc == 0, rc
ctx, p, q, host, f, s = c.c_void_p(), c.c_uint64(), c.c_uint64(), c.c_void_p(), c.c_void_p(), c.c_int()
ok(l.cuInit(0))
ok(l.cuDevicePrimaryCtxRetain(c.byref(ctx), 0))
ok(l.cuCtxSetCurrent(ctx))
print("ready", flush=True)
sys.stdin.readline()
ok(l.cuMemAlloc_v2(c.byref(p), c.c_size_t(64 << 20)))
ok(l.cuMemAlloc_v2(c.byref(q), c.c_size_t(32 << 20)))
ok(l.cuMemFree_v2(q))
ok(l.cuGetProcAddress_v2(b"cuMemAlloc", c.byref(f), 12000, c.c_uint64(0), c.byref(s)))
ok(c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_size_t)(f.value)(c.addressof(q), 16 << 20))
for flags in (0, 2):
    ok(l.cuGetProcAddress_v2(b"cuMemAllocAsync", c.byref(f), 12000, c.c_uint64(flags), c.byref(s)))
    ok(c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_size_t, c.c_void_p)(f.value)(c.addressof(q), 4 << 20, None))
ok(l.cuMemHostAlloc(c.byref(host), c.c_size_t(1 << 20), 0))
for i in range(5):
    ok(l.cuEventCreate(c.byref(f), 0))
ok(l.cuEventDestroy_v2(f))
ok(l.cuStreamCreate(c.byref(f), 0))
assert l.cuMemAlloc_v2(c.byref(q), c.c_size_t(1 << 50)) == 2
print("done", flush=True)
sys.stdin.readline()
`

var driverCells = map[string]int64{
	record.ColDriverAllocBytes: 64<<20 + 16<<20 + 2*(4<<20), record.ColDriverAllocCount: 4,
	record.ColDriverAsyncBytes: 8 << 20, record.ColPinnedBytes: 1 << 20,
	record.ColEvents: 4, record.ColStreams: 1, record.ColDriverFailed: 1, record.ColCaptureLost: 0,
}

func TestTheRealDriverIsCapturedInEveryMode(t *testing.T) {
	python := realDriver(t, "")
	for _, mode := range []Mode{ModePreload, ModeAudit, ModeEBPF} {
		t.Run(string(mode), func(t *testing.T) {
			dir, err := TempDir()
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Remove()
			env, err := Prepare(dir.Path, mode, os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(python, "-c", driverScript)
			cmd.Env = append(os.Environ(), env...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			in, _ := cmd.StdinPipe()
			out, _ := cmd.StdoutPipe()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			if !lines.Scan() {
				t.Fatalf("the program does not start: %s", &stderr)
			}
			var r *Reader
			if mode == ModeEBPF {
				r, err = Attach(cmd.Process.Pid)
			} else {
				r, err = Open(dir.Path)
			}
			if errors.Is(err, ErrPrivileges) || errors.Is(err, ErrUnsupported) {
				in.Close()
				cmd.Wait() // it ends without its lines
				t.Skipf("the kernel allows no probes here: %v", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			io.WriteString(in, "\n") // a failure shows in what follows
			if !lines.Scan() {
				t.Fatalf("the program ended early: %s", &stderr)
			}
			if err := r.Poll(); err != nil {
				t.Fatal(err)
			}
			wantCells(t, ended{pid: cmd.Process.Pid, reader: r}, driverCells)
			t.Logf("%s: %v", mode, r.Sites(cmd.Process.Pid))
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, &stderr)
			}
		})
	}
}

func TestPyTorchsSegmentsAreCaptured(t *testing.T) {
	python := realDriver(t, ", torch")
	const script = `
import torch
x = [torch.empty(32 << 20, dtype=torch.uint8, device="cuda") for _ in range(20)]
y = torch.randn(512, 512, device="cuda") @ torch.randn(512, 512, device="cuda")
torch.cuda.synchronize()
print(torch.cuda.memory_reserved(), flush=True)
import os; os._exit(0)
`
	for _, conf := range []string{"expandable_segments:False", "expandable_segments:True"} {
		for _, mode := range []Mode{ModePreload, ModeAudit} {
			dir, err := TempDir()
			if err != nil {
				t.Fatal(err)
			}
			defer dir.Remove()
			env, err := Prepare(dir.Path, mode, os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(python, "-c", script)
			cmd.Env = append(append(os.Environ(), env...), "PYTORCH_CUDA_ALLOC_CONF="+conf)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			reserved, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			r := follow(t, dir.Path)
			got := cells(r, cmd.Process.Pid)
			t.Logf("%s, %s: PyTorch reserved %d, captured %v; %v", mode, conf, reserved,
				got, r.Sites(cmd.Process.Pid))
			if more := got[record.ColDriverAllocBytes] - reserved; more < 0 || more > 256<<20 {
				t.Errorf("%s, %s: PyTorch reserved %d bytes, captured were %d", mode, conf, reserved,
					got[record.ColDriverAllocBytes])
			}
		}
	}
}

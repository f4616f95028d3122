package firsttouch

import (
	"bufio"
	"os/exec"
	"strings"
	"testing"
)

// compiling is a program that compiles ever new kernels with NVIDIA's run-time
// compiler, of the Python package nvidia-cuda-nvrtc: that needs no device. It
// prints a line for each, and "absent" where there is none.
const compiling = `
import ctypes, glob, importlib.util, sys
spec = importlib.util.find_spec("nvidia")
roots = spec.submodule_search_locations if spec else []
found = [f for r in roots for f in glob.glob(r + "/*/lib/libnvrtc.so.*") if "alt" not in f]
if not found:
    print("absent", flush=True)
    sys.exit()
nvrtc = ctypes.CDLL(found[0])
program, options = ctypes.c_void_p(), (ctypes.c_char_p * 1)(b"--gpu-architecture=compute_90")
for n in range(1 << 30):
    source = b"extern \"C\" __global__ void k%d(float *x) { x[threadIdx.x] *= %d.0f; }" % (n, n)
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"k.cu", 0, None, None) or nvrtc.nvrtcCompileProgram(program, 1, options):
        sys.exit("the compiler refused")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    print(n, flush=True)
`

func TestKernelsCompiledAgainAndAgainAreTheCompilersAndChurn(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("python3", "-c", compiling)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skipf("no Python on this machine: %v", err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	kernels := func(n int) {
		t.Helper()
		for range n {
			if !lines.Scan() {
				t.Fatalf("the program ended: %v", lines.Err())
			}
			if lines.Text() == "absent" {
				t.Skip("no NVRTC on this machine: python3 -m pip install nvidia-cuda-nvrtc")
			}
		}
	}
	kernels(20) // the compiler's own start is over
	r, err := Start(cmd.Process.Pid, Options{})
	if err != nil {
		checkRefusal(t, err)
		return
	}
	kernels(100)
	report := r.Stop()
	t.Logf("%+v", report)
	if len(report.Owners) == 0 || !strings.HasPrefix(report.Owners[0].Library, "libnvrtc") ||
		report.Owners[0].Share < .9 {
		t.Fatalf("owners: %+v", report.Owners)
	}
	if report.Churn.Judgement != Churn {
		t.Errorf("what the compiler gives back is taken for %s: %+v", report.Churn.Judgement, report.Churn)
	}
}

package importer

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func newReader(s string) *bufio.Reader { return bufio.NewReader(strings.NewReader(s)) }

// FuzzRead holds for every format: no panic; a run or an error and not both;
// columns of one length; warnings bounded.
func FuzzRead(f *testing.F) {
	f.Add([]byte(threeLines))
	f.Add([]byte(traceLog))
	f.Add([]byte("[TL_MEM] register_tensor\nMemory: -1 MB (metal_pool_mb=0)\n"))
	f.Add([]byte(rmmHeader + "\n1,10:00:00.000001,allocate,0x1,8,0x0\n1,09:00:00.1,free,0x1,8,0x0\n"))
	f.Add(
		[]byte(
			"timestamp, pid, process_name, used_gpu_memory [MiB]\n2026/11/20 09:30:00.000, 4242, a,b, 512 " +
				"MiB\n"))
	f.Add(twoDevices())
	f.Add(
		[]byte(
			"\x80\x04\x8c\x08segments0ctorch.jit._pickle\nrestore_type_tag\n](}\x8c\x06deviceK\x01se\x8c\x01x\x86R."))
	for _, name := range []string{"jax_before.pprof", "memray_leaks.csv", "memray_stats.json",
		"allocation_server.log"} {
		f.Add(file(f, name))
	}
	f.Add(
		[]byte(
			"✓ [PID 7] Allocated 1 bytes of X on device 63 (buffer_id=1, ref_count=9)\n✗ [PID 7] Freed " +
				"buffer 1 on device 63 (1 bytes, FINAL)\nPID 7 is dead, removing its buffers\n✓ [CB_FREE] " +
				"Device 1: -1 MB (Total: 1e9 MB)\n"))
	f.Add([]byte(savedLog))
	f.Add([]byte(savedStacks))
	f.Add([]byte("\x80\x04](}(\x8c\x06action\x8c\x05alloc\x8c\x04sizeK\x05u0}(\x8c\x06action\x8c\x04freeue."))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The first byte may force a format, so that each sees what is not its own.
		o := Options{StepsPerLine: int64(len(data) % 3)}
		if kinds := Kinds(); len(data) > 1 && int(data[0]) >= 256-len(kinds) {
			o.From, data = kinds[255-int(data[0])].Kind, data[1:]
		}
		run, err := ReadWith(bytes.NewReader(data), "fuzz", o)
		if (run == nil) == (err == nil) {
			t.Fatalf("run %v, error %v", run, err)
		}
		if run == nil {
			return
		}
		for _, name := range run.Samples.Names() {
			if len(run.Samples.Column(name)) != run.Samples.Len() {
				t.Errorf("%s has another length", name)
			}
			for _, v := range run.Samples.Column(name) {
				if !record.IsUnknown(v) && name != record.ColTime && v < 0 {
					t.Errorf("%s holds %v", name, v)
				}
			}
		}
		if joined, err := Join([]*record.Run{run, run}, true); err == nil && joined.Samples.Len() != 2 &&
			run.Samples.Len() > 0 {
			t.Errorf("two files made %d rows", joined.Samples.Len())
		}
		if len(run.Warnings) > maxWarnings+maxDevices+20 {
			t.Errorf("%d warnings", len(run.Warnings))
		}
	})
}

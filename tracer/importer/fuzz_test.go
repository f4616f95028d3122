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
	f.Add([]byte("timestamp, pid, process_name, used_gpu_memory [MiB]\n2026/11/20 09:30:00.000, 4242, a,b, 512 MiB\n"))
	f.Add(twoDevices())
	f.Add([]byte("\x80\x04\x8c\x08segments0ctorch.jit._pickle\nrestore_type_tag\n](}\x8c\x06deviceK\x01se\x8c\x01x\x86R."))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := ReadWith(bytes.NewReader(data), "fuzz", Options{StepsPerLine: int64(len(data) % 3)})
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
		if len(run.Warnings) > maxWarnings+maxDevices+20 {
			t.Errorf("%d warnings", len(run.Warnings))
		}
	})
}

package importer

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestRMMEventsBecomeTheStateAfterEach(t *testing.T) {
	t.Parallel()
	run := read(t, rmmHeader+`
1,23:59:59.500000,allocate,0x7f10,256,0x0
1,23:59:59.750000,allocate,0x7f20,1024,0x0
1,23:59:59.800000,allocate failure,(nil),99999,0x0
1,00:00:00.250000,free,0x7f10,256,0x0
1,00:00:01.000000,free,0x9999,1,0x0
1,00:00:01.500000,free,0x7f20,512,0x0
`, Options{})
	want(t, run, record.ColTime, 0, 250, 750, 2000)
	want(t, run, record.ColLive, 256, 1280, 1024, 0)
	want(t, run, record.ColLiveCount, 1, 2, 1, 0)
	want(t, run, record.ColAllocs, 1, 2, 2, 2)
	want(t, run, record.ColFrees, 0, 0, 1, 2)
	for line, text := range map[int]string{4: "99999 bytes failed", 6: "without an allocation",
		7: "freed with 512 bytes, allocated with 1024"} {
		if !warned(run, line, text) {
			t.Errorf("line %d: no warning %q in %+v", line, text, run.Warnings)
		}
	}
}

func TestABadRMMLineCostsOnlyItself(t *testing.T) {
	t.Parallel()
	good := "1,10:00:00.000001,allocate,0x1,8,0x0\n"
	for line, text := range map[string]string{
		"1,2,3":                                 "3 fields",
		"1,25:00:00.0,allocate,0x2,8,0x0":       "Time",
		"1,10:00:00.0,allocate,zero,8,0x0":      "Pointer",
		"1,10:00:00.0,allocate,0x2,-8,0x0":      "Size",
		"1,10:00:00.0,reallocate,0x2,8,0x0":     "Action",
		"1,10:00:00.0,allocate,0x1,8,0x0":       "allocated twice",
		"1,10:00:00.0,allocate,0x2,8,0x0,extra": "7 fields",
	} {
		run := read(t, rmmHeader+"\n"+good+line+"\n", Options{})
		if !warned(run, 3, text) {
			t.Errorf("%q: no warning %q in %+v", line, text, run.Warnings)
		}
	}
	if _, err := Read(strings.NewReader(rmmHeader+"\nnonsense\n"), "x"); err == nil {
		t.Error("a log without a good line was read")
	}
}

func TestNvidiaSMIRowsKeepTheirProcess(t *testing.T) {
	t.Parallel()
	run := read(t, `timestamp, pid, process_name, used_gpu_memory [MiB]
2026/11/20 09:30:00.000, 4242, python3, 512 MiB
2026/11/20 09:30:00.000, 99, /opt/a,b/c, 16 MiB
2026/11/20 09:30:00.200, 4242, python3, [N/A]
2026/11/20 09:30:00.400, 4242, python3, 513
broken, 4242, python3, 513 MiB
2026/11/20 09:30:00.600, x, python3, 513 MiB
2026/11/20 09:30:00.800, 4242, python3, much MiB
`, Options{})
	want(t, run, record.ColTime, 0, 0, 200, 400, 800)
	want(t, run, record.ColPID, 4242, 99, 4242, 4242, 4242)
	want(t, run, record.ColGPU, 512*mib, 16*mib, record.Unknown(), 513*mib, record.Unknown())
	for line, text := range map[int]string{6: "timestamp", 7: "pid", 8: "used_gpu_memory"} {
		if !warned(run, line, text) {
			t.Errorf("line %d: no warning %q in %+v", line, text, run.Warnings)
		}
	}
	if run.Meta.PID != 0 {
		t.Error("one pid for two processes")
	}
}

func TestOneProcessIsTheRunsOwn(t *testing.T) {
	t.Parallel()
	run := read(t, "pid, used_memory [MiB]\n7, 1 MiB\n7, 2 MiB\n", Options{})
	if run.Meta.PID != 7 || !warned(run, 0, "no timestamp") {
		t.Errorf("%+v %+v", run.Meta, run.Warnings)
	}
}

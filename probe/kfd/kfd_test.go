package kfd

import (
	"errors"
	"io/fs"
	"reflect"
	"regexp"
	"testing"

	"github.com/gpumem/gpumem/probe/probetest"
)

// machine writes a tree of an MI300X with a processor node and two GPUs.
func machine(tb testing.TB, extra map[string]string) string {
	tb.Helper()
	root := probetest.NewRoot(tb)
	files := map[string]string{
		"topology/nodes/0/gpu_id":     "0\n",
		"topology/nodes/0/properties": "cpu_cores_count 96\n",
		"topology/nodes/10/gpu_id":    "28851\n",
		"topology/nodes/10/name":      "gfx942\n",
		"topology/nodes/10/properties": "simd_count 1216\nlocation_id 17152\ndomain " +
			"0\nunique_id 18446744073709551615\nodd line here\n",
		"topology/nodes/2/gpu_id":                   "51110\n",
		"topology/nodes/2/name":                     "gfx942\n",
		"topology/nodes/2/properties":               "location_id 777\ndomain 1\n",
		"topology/nodes/2/mem_banks/0/properties":   "heap_type 1\nsize_in_bytes 206141652992\nflags 0\n",
		"topology/nodes/2/mem_banks/1/properties":   "heap_type 3\nsize_in_bytes 65536\n",
		"proc/4242/pasid":                           "32769\n",
		"proc/4242/vram_51110":                      "1713373184\n",
		"proc/4242/vram_28851":                      "4096\n",
		"proc/4242/sdma_51110":                      "12\n",
		"proc/4242/counters_51110/faults":           "7\n",
		"proc/4242/counters_51110/page_in":          "8\n",
		"proc/4242/counters_51110/page_out":         "9\n",
		"proc/77/vram_999":                          "not a number\n",
		"proc/77/vram_":                             "1\n",
		"proc/77/vram_99999999999":                  "1\n",
		"proc/notapid/vram_51110":                   "1\n",
		"topology/nodes/generation/not_a_node/file": "",
	}
	for name, text := range extra {
		files[name] = text
	}
	for name, text := range files {
		root.File(base+"/"+name, text)
	}
	return root.Path
}

func TestBytesByProcessAndGPUCarryThePCIAddress(t *testing.T) {
	t.Parallel()
	r, err := Open(machine(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	nodes := []Node{
		{Index: 2, GPUID: 51110, PCI: "0001:03:01.1", Name: "gfx942", VRAMBytes: 206141652992},
		{Index: 10, GPUID: 28851, PCI: "0000:43:00.0", Name: "gfx942", VRAMBytes: Unknown},
	}
	if got := r.Nodes(); !reflect.DeepEqual(got, nodes) {
		t.Errorf("nodes:\ngot  %+v\nwant %+v", got, nodes)
	}
	got, err := r.Processes()
	want := []Process{
		{77, []Usage{{GPUID: 999, VRAMBytes: Unknown, Faults: Unknown, PageIn: Unknown, PageOut: Unknown}}},
		{4242, []Usage{
			{GPUID: 28851, PCI: "0000:43:00.0", VRAMBytes: 4096, Faults: Unknown, PageIn: Unknown,
				PageOut: Unknown},
			{GPUID: 51110, PCI: "0001:03:01.1", VRAMBytes: 1713373184, Faults: 7, PageIn: 8, PageOut: 9},
		}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
	}
}

func TestAFigureThatIsMissingMakesTheSumUnknown(t *testing.T) {
	t.Parallel()
	r, err := Open(machine(t, map[string]string{"proc/5/vram_1": "9223372036854775807", "proc/5/vram_2": "1",
		"proc/6/pasid": "1"}))
	if err != nil {
		t.Fatal(err)
	}
	for pid, want := range map[int]int64{4242: 1713373184 + 4096, 77: Unknown, 5: Unknown, 6: 0} {
		if got, err := r.Bytes(pid); err != nil || got != want {
			t.Errorf("process %d: %d, %v; want %d", pid, got, err, want)
		}
	}
	if got, err := r.Bytes(1); !errors.Is(err, fs.ErrNotExist) || got != Unknown {
		t.Errorf("a process without a context: %d, %v", got, err)
	}
}

func TestAMachineWithoutTheDriverSaysSo(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrUnsupported) ||
		!errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	root := probetest.NewRoot(t)
	root.Folder(base)
	r, err := Open(root.Path)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := r.Processes(); err != nil || len(list) != 0 || len(r.Nodes()) != 0 {
		t.Errorf("driver without GPU and process: %v, %v", list, err)
	}
}

func FuzzProperties(f *testing.F) {
	f.Add([]byte("location_id 17152\ndomain 0\n"))
	f.Add([]byte("location_id 18446744073709551615\ndomain 18446744073709551615\nx\n"))
	address := regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$`)
	f.Fuzz(func(t *testing.T, b []byte) {
		if a := parseProperties(b).PCI(); a != "" && !address.MatchString(a) {
			t.Fatalf("impossible address %q", a)
		}
	})
}

func BenchmarkSample(b *testing.B) {
	r, err := Open(machine(b, nil))
	if err != nil {
		b.Fatal(err)
	}
	var dst []Usage
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = r.Sample(4242, dst[:0])
	}
}

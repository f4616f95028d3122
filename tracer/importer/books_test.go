package importer

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// savedLog has a buffer of each kind: balanced, leaked, leaked by a process that
// died, freed twice, used again with another size, and one from before the log.
const savedLog = `Listening
✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x10)
✗ [PID 7] Freed buffer 0x10 on device 0 (4096 bytes, FINAL)
✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x20)
✓ [PID 7] Allocated 4096 bytes of L1 on device 0 (buffer_id=0x20, ref_count=2)
✗ [PID 7] Freed buffer 0x20 on device 0 (4096 bytes, ref_count=1 remaining)
✓ [PID 8] Allocated 9000 bytes of DRAM on device 1 (buffer_id=0x30)
✓ [PID 7] Allocated 100 bytes of DRAM on device 0 (buffer_id=0x40)
✗ [PID 7] Freed buffer 0x40 on device 0 (100 bytes, FINAL)
⚠ [PID 7] Deallocation for unknown buffer 0x40 on device 0 (allocated before tracking started)
✓ [PID 7] Allocated 200 bytes of DRAM on device 0 (buffer_id=0x50)
✗ [PID 7] Freed buffer 0x50 on device 0 (200 bytes, FINAL)
✓ [PID 7] Allocated 300 bytes of DRAM on device 0 (buffer_id=0x50)
✗ [PID 7] Freed buffer 0x50 on device 0 (300 bytes, FINAL)
⚠ [PID 7] Deallocation for unknown buffer 0x99 on device 0 (allocated before tracking started)
   PID 8 is dead, removing its buffers...
`

// savedStacks is a log of the client with stack traces of some of the same
// buffers.
const savedStacks = `=== TT-Metal Buffer Allocation Stack Traces ===
PID: 7

─────────────────────────────────────────────────────
Allocation #0
Time: 2025-11-04 12:00:00
Device: 0
Type: L1
Size: 4096 bytes (4 KB)
Address: 0x20
Stack trace:
  /opt/libtt_metal.so : tt::tt_metal::Buffer::create(unsigned long)+0x1f
  /opt/_ttnn.so : ttnn::matmul(Tensor const&, Tensor const&)+0x2a
  python3(+0x1234) [0x55d0]

─────────────────────────────────────────────────────
Allocation #1
Time: 2025-11-04 12:00:01
Device: 0
Type: DRAM
Size: 100 bytes (0.0976562 KB)
Address: 0x40
Stack trace:
  ./demo : main+0x10

─────────────────────────────────────────────────────
Deallocation
Time: 2025-11-04 12:00:02
Device: 0
Address: 0x40
Stack trace:
  ./demo : Holder::~Holder()+0x10

`

func TestASavedLogListsLeakedDoublyFreedAndResizedBuffers(t *testing.T) {
	t.Parallel()
	b, err := ReadBooks(strings.NewReader(savedLog), "server.log")
	if err != nil {
		t.Fatal(err)
	}
	ids := func(list []PastBuffer) (all []string) {
		for _, p := range list {
			all = append(all, p.ID)
		}
		return all
	}
	if b.Unique != 5 || b.Balanced != 2 || b.Unknown != 1 || !slices.Equal(ids(b.Leaked), []string{"0x20", "0x30"}) ||
		!slices.Equal(ids(b.DoubleFreed), []string{"0x40"}) || !slices.Equal(ids(b.Resized), []string{"0x50"}) {
		t.Fatalf("%+v", b)
	}
	leaked := b.Leaked[0]
	if leaked.Allocs != 2 || leaked.Frees != 1 || leaked.Died || len(leaked.Last) != 3 ||
		leaked.Last[1] != (PastEvent{5, "REUSE", 4096, 7}) || !b.Leaked[1].Died {
		t.Errorf("%+v", b.Leaked)
	}
	if !slices.Equal(b.Resized[0].Sizes, []uint64{200, 300}) || b.Resized[0].Allocs != 2 {
		t.Errorf("%+v", b.Resized)
	}
}

func TestStackTracesAreJoinedToTheBuffersOfASavedLog(t *testing.T) {
	t.Parallel()
	b, err := ReadBooks(strings.NewReader(savedLog), "server.log")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ReadStacks(strings.NewReader(savedStacks), "stacks.log")
	if err != nil || s.Blocks != 3 {
		t.Fatalf("%v %+v", err, s)
	}
	if known := b.Join(s); known != 1 {
		t.Errorf("%d leaked buffers with a stack", known)
	}
	if at := b.Leaked[0].Allocated; len(at) != 3 || !strings.Contains(at[1], "ttnn::matmul") {
		t.Errorf("%q", at)
	}
	if at := b.DoubleFreed[0].Freed; len(at) != 1 || !strings.Contains(at[0], "~Holder") {
		t.Errorf("%q", at)
	}
}

func TestALogOfStackTracesIsARunWithItsSites(t *testing.T) {
	t.Parallel()
	run := readFile(t, []byte(savedStacks), "tt_alloc_stack_traces.log")
	if run.Meta.Versions[recordedBy] != string(StackTraces) || run.Meta.PID != 7 {
		t.Errorf("%+v", run.Meta)
	}
	want(t, run, record.ColLive, 4096, 4196, 4096)
	want(t, run, record.ColLiveCount, 1, 2, 1)
	want(t, run, record.ColFrees, 0, 0, 1)
	sites := run.Events[0].Sites
	if len(sites) != 1 || sites[0].Bytes != 4096 ||
		sites[0].Site != "ttnn::matmul(Tensor const&, Tensor const&) (_ttnn.so)" {
		t.Errorf("%+v", sites)
	}
}

func TestABlockThatIsDamagedIsLeftOut(t *testing.T) {
	t.Parallel()
	text := strings.Replace(savedStacks, "Address: 0x20", "Address: oh", 1)
	run := readFile(t, []byte(text), "x")
	want(t, run, record.ColLive, 100, 0)
	if !warned(run, 10, "Address") {
		t.Errorf("%+v", run.Warnings)
	}
	for _, bad := range []string{"", "nothing here\n"} {
		if _, err := ReadStacks(strings.NewReader(bad), "x"); err == nil {
			t.Errorf("%q was read as stack traces", bad)
		}
		if _, err := ReadBooks(strings.NewReader(bad), "x"); err == nil {
			t.Errorf("%q was read as a log", bad)
		}
	}
}

package console

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func everything() Modes {
	return Modes{MemCheck: true, DebugMemory: true, MemTrace: true, MemLog: true, BufferStats: true,
		BufferDebug: true, DebugCache: true}
}

// The figures are those of the investigation (TLG-09): 0.61, 2098.73, 1180.61
// and 0.45 MB.
func mibs(v float64) int64 { return int64(v*mib + 0.5) }

func TestTheFormatsAreThoseOfTheInvestigations(t *testing.T) {
	t.Parallel()
	full := PoolStats{Buffers: 122, Bytes: 1_237_442_560, Reuses: 1, Allocations: 203}
	mem := Memory{RSSBytes: 319<<20 + 900<<10, PoolBytes: 55104, PoolCount: 70, Idle: 4, References: 12, ScopeDepth: 2}
	tests := []struct {
		golden string
		print  func(*Printer)
	}{
		{"how-does-a-clean-run-read", func(p *Printer) {
			p.CheckBefore(mibs(0.61))
			p.CheckAfter(mibs(0.61), mibs(0.61), DefaultThreshold, PoolStats{})
		}},
		{"how-does-a-small-increase-read", func(p *Printer) {
			p.CheckAfter(mibs(1), mibs(2), DefaultThreshold, PoolStats{Buffers: 3, Bytes: mib, Allocations: 3})
		}},
		{"how-does-a-leak-read", func(p *Printer) {
			p.CheckBefore(mibs(0.61))
			if p.CheckAfter(mibs(0.61), mibs(2098.73), DefaultThreshold, full) {
				p.Leak(mibs(2098.73) - mibs(0.61))
				p.AfterPurge(mibs(1180.57), mibs(0.45))
			}
			p.Stats(full)
		}},
		{"how-do-allocations-and-releases-read", func(p *Printer) {
			p.Allocation(mibs(0.61), mibs(22.61), 11534336, 23068672)
			r := Release{BeforeBytes: mibs(22.61), AfterBytes: mibs(22.61), Length: 23068672, References: 1,
				Pooled: true, SizeClass: 11534336}
			p.Deallocation(r)
			r.Refused, r.AfterBytes = "cap full", mibs(0.61)
			p.Deallocation(r)
			r.Refused, r.References, r.AfterBytes = "shared", 2, mibs(22.61)
			p.Deallocation(r)
			p.Deallocation(Release{BeforeBytes: mibs(22.61), Length: 4096, References: 1})
			p.CleanupBefore(mibs(2098.73), 2)
			p.CleanupAfter(mibs(1180.61))
			p.Purged(122, 1_237_442_560)
		}},
		{"how-does-a-statement-trace-read", func(p *Printer) {
			p.Statement(Position{File: "nqueens.go", Line: 41, Col: 0}, TensorDecl, mem)
			mem := mem
			mem.RSSBytes = -5
			p.Statement(Position{}, Loop, mem)
			p.Snapshot(mem)
		}},
		{"how-does-the-memory-line-read", func(p *Printer) { p.Snapshot(mem) }},
		{"how-does-the-memory-log-read", func(p *Printer) {
			p.EnterScope(1)
			p.Buffer("alloc_buffer", 256, 1, 256)
			p.AllocNonPool(Freed{Bytes: 256, DType: "F32", Elements: 64, Shape: []int{8, 8}, Device: "soft",
				Context: "board", Location: "nqueens.go:41"})
			p.Registered("register_tensor", 7, 1, 1)
			p.Registered("register_tensor_acquire", 7, 2, 1)
			p.Counted("tensor_acquire", 7, 3)
			p.Registered("unregister", 7, 3, 1)
			p.ExitScope(1, 1, 0)
			p.Counted("tensor_release", 7, 0)
			p.FreeTensor(Freed{Outcome: "pooled", Bytes: 256, DType: "F32", Elements: 64, Shape: []int{8, 8},
				Device: "soft", Context: "board", Location: "nqueens.go:41", Pooled: true})
			p.ExitedScope(0, 0, 1)
			p.Buffer("reuse_buffer", 256, 1, 256)
		}},
		{"how-do-the-pools-requests-read", func(p *Printer) {
			p.Requested(1500, 2048, 4096, false)
			p.Requested(1500, 2048, 4096, true)
			p.GivenBack(GiveBack{Length: 1500, SizeClass: 2048, PoolSize: 1, Limit: 30, References: 1})
			p.GivenBack(GiveBack{Length: 1500, SizeClass: 2048, Limit: 30, Outcome: PoolFull})
			p.GivenBack(GiveBack{Length: 1500, SizeClass: 2048, Outcome: PoolLocked})
			p.GivenBack(GiveBack{Length: 1500, SizeClass: 2048, References: 2, Outcome: StillReferenced})
			p.CacheSet(0, false, 12, []int{5, 256})
			p.CacheSet(0, true, 12, []int{6, 256})
		}},
		{"how-does-an-epoch-read", func(p *Printer) { p.Epoch(3, 0.01234) }},
	}
	for _, tt := range tests {
		t.Run(tt.golden, func(t *testing.T) {
			t.Parallel()
			var out, talk bytes.Buffer
			tt.print(New(everything(), &out, &talk))
			got := "--- stdout\n" + out.String() + "--- stderr\n" + talk.String()
			path := filepath.Join("testdata", tt.golden+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestALeakIsGrowthStrictlyAboveTheThreshold(t *testing.T) {
	t.Parallel()
	p := New(Modes{}, &bytes.Buffer{}, &bytes.Buffer{})
	for _, tt := range []struct {
		grown, threshold int64
		leak             bool
	}{{1 << 20, 1 << 20, false}, {1<<20 + 1, 1 << 20, true}, {0, 0, false}, {1, 0, true}, {-5, 0, false}} {
		if got := p.CheckAfter(100, 100+tt.grown, tt.threshold, PoolStats{}); got != tt.leak {
			t.Errorf("growth %d at threshold %d: leak %t", tt.grown, tt.threshold, got)
		}
	}
}

func TestAnUnsetModePrintsNothingButTheLeak(t *testing.T) {
	t.Parallel()
	var out, talk bytes.Buffer
	p := New(Modes{}, &out, &talk)
	p.CheckBefore(1)
	p.CheckAfter(1, 1<<30, 0, PoolStats{})
	p.Allocation(0, 1, 2, 3)
	p.Deallocation(Release{})
	p.CleanupBefore(0, 0)
	p.CleanupAfter(0)
	p.Purged(0, 0)
	p.Statement(Position{}, Let, Memory{})
	p.EnterScope(1)
	p.Stats(PoolStats{})
	if out.Len()+talk.Len() != 0 {
		t.Errorf("printed %q and %q", out.String(), talk.String())
	}
	p.Leak(1 << 21)
	if !bytes.Contains(talk.Bytes(), []byte("WARNING: GPU memory leak detected!")) {
		t.Errorf("the leak was not reported: %q", talk.String())
	}
}

func TestANilPrinterPrintsNothing(t *testing.T) {
	t.Parallel()
	var p *Printer
	p.CheckBefore(0)
	if !p.CheckAfter(0, 2, 1, PoolStats{}) {
		t.Error("a nil printer does not judge")
	}
	p.Leak(1)
	p.AfterPurge(1, 0)
	p.Allocation(0, 0, 0, 0)
	p.Deallocation(Release{})
	p.CleanupBefore(0, 0)
	p.CleanupAfter(0)
	p.Purged(0, 0)
	p.Statement(Position{}, Let, Memory{})
	p.Snapshot(Memory{})
	p.FreeTensor(Freed{})
	p.Epoch(1, 0)
	p.Stats(PoolStats{})
}

func TestTheEnvironmentTurnsFormatsOn(t *testing.T) {
	t.Parallel()
	lookup := func(env map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	}
	tests := []struct {
		env  map[string]string
		want Modes
	}{
		{nil, Modes{}},
		{map[string]string{"TL_MEMORY_CHECK": "", "TL_DEBUG_MEMORY": "0", "TL_BUFFER_STATS": "1"},
			Modes{MemCheck: true, DebugMemory: true, BufferStats: true}},
		{map[string]string{"TL_BUFFER_DEBUG": "", "TL_DEBUG_CACHE": "0"}, Modes{BufferDebug: true, DebugCache: true}},
		{map[string]string{"GPUMEM_MEM_CHECK": "1"}, Modes{MemCheck: true}},
		{map[string]string{"TL_MEM_TRACE": "FALSE", "TL_MEM_LOG": "0"}, Modes{}},
		{map[string]string{"TL_MEM_TRACE": "1", "TL_MEM_LOG": "yes"}, Modes{MemTrace: true, MemLog: true}},
	}
	for _, tt := range tests {
		if got := ModesFrom(lookup(tt.env)); got != tt.want {
			t.Errorf("%v: got %+v, want %+v", tt.env, got, tt.want)
		}
	}
}

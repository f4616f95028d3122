package capture

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

const mib = 1 << 20

// pooled are the programs with the driver's pools: of CUDA, and of a stand-in for HIP.
var pooled = [...]string{"pools", "pools_hip"}

func TestTheDriversPoolsTellWhatIsUsedAndWhatIsIdle(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for name, want := range map[string]struct{ program, reserved, idle int64 }{
		"retains": {0, 32 * mib, 32 * mib},
		"returns": {0, 0, 0},
		"loses":   {24 * mib, 32 * mib, 8 * mib},
		"small":   {512_000, 2 * mib, 2*mib - 512_000},
		"last":    {17 * mib, 33 * mib, 16 * mib},
		"own":     {8 * mib, 32 * mib, 24 * mib},
	} {
		for _, program := range pooled {
			t.Run(program+" "+name, func(t *testing.T) {
				t.Parallel()
				e := run(t, launch{args: []string{tools.path(program), name}})
				e.reader.Sites(e.pid) // reads which program it was
				wantCells(t, e, map[string]int64{
					record.ColDriverProgramBytes: want.program,
					record.ColDriverPoolReserved: want.reserved,
					record.ColDriverPoolIdle:     want.idle,
				})
			})
		}
	}
}

func TestAPoolThatIsGoneIsNotAsked(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, program := range pooled {
		e := run(t, launch{args: []string{tools.path(program), "threads"}})
		wantCells(t, e, map[string]int64{record.ColPools: 0})
	}
	e := run(t, launch{args: []string{tools.path("pools"), "reset"}})
	wantCells(t, e, map[string]int64{record.ColDriverPoolIdle: 0, record.ColDriverPoolReserved: 0})
}

func TestAPurgeTrimsTheDriversPoolsAtTheEndAndIsReceipted(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, program := range pooled {
		args := []string{tools.path(program), "loses"}
		if _, ok := run(t, launch{args: args}).receipt(); ok {
			t.Errorf("%s: pools were trimmed that nobody asked for", program)
		}
		got, ok := run(t, launch{args: args, env: []string{EnvPurge + "=1"}}).receipt()
		if !ok || *got.ClaimedBytes != 8*mib || *got.GPUBytes != 8*mib ||
			*got.Count != 1 || got.Account != record.AccountIdle {
			t.Errorf("%s: receipt %+v, %v", program, got, ok)
		}
	}
}

func (e ended) receipt() (record.Receipt, bool) { return e.reader.Trimmed(e.pid) }

func TestAProgramOfHIPIsRecordedWithOwnersAndSites(t *testing.T) {
	t.Parallel()
	tools := build(t)
	for _, mode := range []Mode{ModePreload, ModeAudit} {
		e := run(t, launch{mode: mode, args: []string{tools.path("pools_hip"), "all"}})
		sites := e.reader.Sites(e.pid)
		wantCells(t, e, map[string]int64{
			record.ColDriverAllocBytes: 15 * mib, record.ColDriverProgramBytes: 15 * mib,
			record.ColPinnedBytes: mib, record.ColEvents: 1, record.ColDriverVMMBytes: 2 * mib,
		})
		if len(sites) == 0 || !strings.Contains(sites[0].Site, "burst") {
			t.Errorf("%s: sites %+v", mode, sites)
		}
	}
}

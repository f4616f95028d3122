package cause

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestAPoolOfTheDriverIsNamedWithItsThresholdAndItsRemedy(t *testing.T) {
	t.Parallel()
	c := &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true}
	c.Judged.Columns = map[string][]float64{
		record.ColDriverPoolIdle: {1 << 20, 3 << 20}, record.ColDriverPoolReserved: {4 << 20, 6 << 20},
		record.ColDriverPoolKeeps: {record.NoThreshold, record.NoThreshold},
	}
	got := Of(c)
	if !slices.Equal(idsOf(got), []string{DriverPool}) {
		t.Fatalf("causes %v", idsOf(got))
	}
	for _, want := range []string{"hold 6 MiB of the device, of which nobody uses 3 MiB", "has no limit"} {
		if !strings.Contains(strings.Join(got[0].Evidence, "; "), want) {
			t.Errorf("no %q in %q", want, got[0].Evidence)
		}
	}
	if !strings.Contains(got[0].Next, "cudaMemPoolTrimTo") {
		t.Errorf("the remedy is %q", got[0].Next)
	}
	if strings.Contains(got[0].Next, "cudaMemPoolDestroy") {
		t.Errorf("of one pool: %q", got[0].Next)
	}
	c.Judged.Columns[record.ColPools] = []float64{1, 40}
	if got := Of(c); !strings.HasPrefix(got[0].Next, "destroy the pools") {
		t.Errorf("of ever more pools: %q", got[0].Next)
	}
	c.Judged.Columns[record.ColIdle] = []float64{1, 2}
	if got := idsOf(Of(c)); slices.Contains(got, DriverPool) {
		t.Errorf("beside an allocator that tells: %v", got)
	}
}

func TestATrimmedPoolThatIsFragmentedIsNotSaidToDropItsBooks(t *testing.T) {
	t.Parallel()
	idle, given := int64(100<<20), int64(2<<20)
	r := record.Receipt{Action: record.ActionPurge, Account: record.AccountIdle, ClaimedBytes: &idle, GPUBytes: &given}
	c := &Case{Class: account.PoolGrowth, Confidence: 1, ByTrend: true, Leftover: 1 << 20,
		Receipts: []record.Event{{Kind: record.KindReceipt, Receipt: &r}}}
	got := purgeInVain(c)
	if got == nil || strings.Contains(got.Next, "books") || !strings.Contains(got.Next, "blocks in use lie between") ||
		!strings.Contains(got.Evidence[0], "had 100 MiB idle and gave 2 MiB back") {
		t.Errorf("the driver's own pool: %+v", got)
	}
	r.ReturnedBytes = &given // the system's word on the program's own pool
	if got := purgeInVain(c); got == nil || !strings.Contains(got.Next, "drops its books") {
		t.Errorf("a pool of the program's: %+v", got)
	}
	grew := int64(-60 << 20) // it went on growing while this was measured
	r.ReturnedBytes, r.GPUBytes = &grew, &grew
	if got := purgeInVain(c); got != nil {
		t.Errorf("a program that grew meanwhile: %+v", got)
	}
}

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// midRun are the receipts of purges, and the reasons that were told for them.
func midRun(t *testing.T, dir string) (receipts []record.Receipt, reasons []string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range run.Events {
		switch {
		case e.Kind == record.KindReceipt && e.Name == "purge":
			receipts = append(receipts, *e.Receipt)
		case e.Kind == record.KindEvent && e.Name == "purge":
			reasons = append(reasons, e.Text)
		}
	}
	return receipts, reasons
}

func TestAProgramThatRunsIsPurgedWhenItsPoolKeepsTooMuchWithAReceipt(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	got := gpumem(t, dir, "run", "-q", "--out", "out", "--purge-when", "idle > 8MiB",
		"generate", "--fault", "exact-sizes")
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	receipts, reasons := midRun(t, filepath.Join(dir, "out"))
	// The program may end while the last one is measured.
	if len(receipts) == 0 || len(reasons)-len(receipts) > 1 || len(receipts) > len(reasons) {
		t.Fatalf("%d receipts of %d purges", len(receipts), len(reasons))
	}
	if !strings.HasPrefix(reasons[0], "idle memory is ") || !strings.HasSuffix(reasons[0], ", above 8 MiB") {
		t.Errorf("the reason is %q", reasons[0])
	}
	claimed, back := receipts[0].ClaimedBytes, receipts[0].ReturnedBytes
	if claimed == nil || *claimed < 8<<20 || back == nil || *back <= 0 {
		t.Errorf("the receipt is %+v", receipts[0])
	}
	if v := readVerdict(t, filepath.Join(dir, "out")); len(v.Experiments) != len(receipts) {
		t.Errorf("%d experiments in the verdict of %d receipts", len(v.Experiments), len(receipts))
	}
}

func TestAProgramWithoutAPurgeIsNotSaidToBePurged(t *testing.T) {
	dir := t.TempDir()
	got := gpumem(t, dir, "run", "--out", "out", "--purge-every", "2s", "sh", "-c", "sleep 2.6")
	receipts, _ := midRun(t, filepath.Join(dir, "out"))
	if got.code != 0 || len(receipts) != 0 || !strings.Contains(got.stderr, "has nothing to purge by") {
		t.Errorf("exit code %d, %d receipts\n%s", got.code, len(receipts), got.stderr)
	}
}

func TestAConditionThatCannotBeReadIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{
		"--purge-every=1s", "--purge-when=live > 2GiB", "--purge-when=idle", "--purge-when=idle > lots",
	} {
		got := gpumem(t, t.TempDir(), "run", flag, "sh", "-c", "echo ran")
		if got.code != 2 || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d\n%s%s", flag, got.code, got.stdout, got.stderr)
		}
	}
}

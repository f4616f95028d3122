//go:build (amd64 || arm64) && !nodl

package apple_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/internal/loader/standin"
	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/apple/appletest"
)

func openKernel(t *testing.T, library string) *apple.Kernel {
	t.Helper()
	k, err := apple.OpenKernel(apple.Options{System: library})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// left asks a stand-in how much was not given back.
func left(t *testing.T, library, function string) int {
	t.Helper()
	return int(int32(standin.Ask(t, library, function, "")))
}

func TestTheKernelIsAskedWithTheRightStructures(t *testing.T) {
	t.Parallel()
	so := appletest.System(t,
		"process 42 resident=1000 footprint=3000 peak=4000 wired=5 user=24000000 system=48 started=77 "+
			"threads=9 "+
			"internal=600 external=400 compressed=2000 purgeable=50 graphics=1500 graphics_compressed=16 "+
			"graphics_nofootprint=8",
		"machine free=3 inactive=5")
	k := openKernel(t, so)
	u, err := k.Usage(42)
	want := apple.Usage{Resident: 1000, Wired: 5, Footprint: 3000, PeakFootprint: 4000, UserTicks: 24000000,
		SystemTicks: 48, Started: 77}
	if err != nil || u != want {
		t.Errorf("usage %+v, %v, want %+v", u, err, want)
	}
	if d := k.Duration(u.UserTicks); d != time.Second {
		t.Errorf("24,000,000 ticks are %v", d)
	}
	p, err := k.Open(42)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.Ledger()
	wantLedger := apple.Ledger{Resident: 1000, Internal: 600, External: 400, Compressed: 2000,
		Footprint: 3000, PeakFootprint: 4000,
		PurgeableNonvolatile: 50, Graphics: 1500, GraphicsCompressed: 16, GraphicsNoFootprint: 8}
	if err != nil || l != wantLedger {
		t.Errorf("ledger %+v, %v, want %+v", l, err, wantLedger)
	}
	p.Close()
	if n, err := k.Threads(42); err != nil || n != 9 {
		t.Errorf("threads %d, %v", n, err)
	}
	if p, err := k.Path(42); err != nil || p != "/Applications/Program 42" {
		t.Errorf("path %q, %v", p, err)
	}
	if p, err := k.Pages(); err != nil || p.Inactive*3 != p.Free*5 || p.Free == 0 {
		t.Errorf("pages %+v, %v", p, err)
	}
	if n := left(t, so, "fake_ports"); n != 0 {
		t.Errorf("%d ports were not given back", n)
	}
}

func TestAKernelThatFillsLessLeavesTheRestUnknown(t *testing.T) {
	t.Parallel()
	k := openKernel(t, appletest.System(t, "process 42 resident=1000 footprint=3000 graphics=1500 words=42"))
	p, err := k.Open(42)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := p.Ledger()
	if err != nil || l.Footprint != 3000 || l.Graphics != apple.Unknown || l.PeakFootprint != apple.Unknown {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestAProgramThatBecameAnotherByExecIsFollowedAndNoPortStays(t *testing.T) {
	t.Parallel()
	so := appletest.System(t, "process 42 resident=9 graphics=1 task=1")
	k := openKernel(t, so)
	p, err := k.Open(42)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := p.Ledger(); err != nil || l.Graphics != 1 {
		t.Errorf("before exec: %+v, %v", l, err)
	}
	standin.Write(t, so, "process 42 resident=9 graphics=2 task=2")
	if l, err := p.Ledger(); err != nil || l.Graphics != 2 {
		t.Errorf("after exec: %+v, %v", l, err)
	}
	standin.Write(t, so, "process 43 resident=9 graphics=3")
	for range 3 { // also when it is asked again and again
		if _, err := p.Ledger(); err == nil {
			t.Error("after its end it has a ledger")
		}
	}
	p.Close()
	p.Close()
	if n := left(t, so, "fake_ports"); n != 0 {
		t.Errorf("%d ports were not given back", n)
	}
}

func TestAProcessThatEndedOrAnotherOfItsPidIsGone(t *testing.T) {
	t.Parallel()
	so := appletest.System(t, "process 42 resident=9 footprint=9 started=5")
	k := openKernel(t, so)
	p, err := k.Open(42)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Usage(); err != nil {
		t.Errorf("alive: %v", err)
	}
	for what, conf := range map[string]string{
		"another of its pid":     "process 42 resident=9 footprint=9 started=6",
		"ended, not waited for":  "process 42 resident=9 footprint=9 started=5 exited=8",
		"without memory, zombie": "process 42 started=5",
	} {
		standin.Write(t, so, conf)
		if _, err := p.Usage(); !errors.Is(err, apple.ErrGone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	standin.Write(t, so, "process 42 started=5 exited=8")
	if _, err := k.Open(42); !errors.Is(err, apple.ErrGone) {
		t.Errorf("a zombie was opened: %v", err)
	}
}

func TestAnotherUsersProcessIsAnError(t *testing.T) {
	t.Parallel()
	k := openKernel(t, appletest.System(t, "process 1 foreign=1 resident=5 footprint=5"))
	if _, err := k.Usage(1); err == nil {
		t.Error("its usage was read")
	}
	if _, err := k.Threads(1); err == nil {
		t.Error("its threads were counted")
	}
	if _, err := k.Open(1); err == nil {
		t.Error("it was opened")
	}
	if p, err := k.Path(1); err != nil || p == "" {
		t.Errorf("its path, which everybody may read: %q, %v", p, err)
	}
	if _, err := k.Usage(99); err == nil {
		t.Error("a process that is not there was read")
	}
}

var twoGPUs = []string{
	"gpu AGXAcceleratorG15X", "model Apple M3 Max", "statistic 100 In use system memory",
	"statistic 7 In use system memory (driver)",
	"statistic 300 Alloc system memory", "client 42 trainer 5000", "odd", "client 7 WindowServer 1",
	"gpu IntelAccelerator",
}

func TestGPUsAndTheirClientsAreListedAndEveryObjectIsGivenBack(t *testing.T) {
	t.Parallel()
	so := appletest.IOKit(t, append([]string{"changing 2"}, twoGPUs...)...)
	r, err := apple.OpenRegistry(apple.Options{IOKit: so, CoreFoundation: so})
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Accelerators(true)
	const u = apple.Unknown
	want := []apple.Accelerator{
		{ID: 1 << 32, Class: "AGXAcceleratorG15X", Model: "Apple M3 Max", InUse: 100,
			Allocated: 300, Driver: 7,
			VRAMFree: u, VRAMUsed: u, Recoveries: u,
			Clients: []apple.Client{{PID: 42, Name: "trainer", GPUTime: 5000},
				{PID: 7, Name: "WindowServer", GPUTime: 1}}},
		{ID: 1<<32 + 1, Class: "IntelAccelerator", InUse: u, Allocated: u, Driver: u, VRAMFree: u,
			VRAMUsed: u, Recoveries: u},
	}
	if err != nil || !reflect.DeepEqual(got[:1], want[:1]) || len(got) != 2 ||
		got[1].Class != want[1].Class || got[1].InUse != u || len(got[1].Clients) != 0 {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	r.Close()
	if n := left(t, so, "fake_objects"); n != 0 {
		t.Errorf("%d objects were not given back", n)
	}
}

func TestAListThatNeverStaysTheSameIsAnErrorNotALoop(t *testing.T) {
	t.Parallel()
	so := appletest.IOKit(t, append([]string{"changing 1000"}, twoGPUs...)...)
	r, err := apple.OpenRegistry(apple.Options{IOKit: so, CoreFoundation: so})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Accelerators(false); err == nil || !strings.Contains(err.Error(), "changed") {
		t.Errorf("%v", err)
	}
}

func TestALibraryWithoutAFunctionIsNamedWithIt(t *testing.T) {
	t.Parallel()
	so := appletest.IOKit(t)
	_, err := apple.OpenKernel(apple.Options{System: so})
	if !errors.Is(err, apple.ErrUnsupported) || !strings.Contains(err.Error(), "look up ") {
		t.Errorf("%v", err)
	}
	_, err = apple.OpenKernel(apple.Options{})
	if !errors.Is(err, apple.ErrUnsupported) || !strings.Contains(err.Error(), "linux") {
		t.Errorf("without a library: %v", err)
	}
}

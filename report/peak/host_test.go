package peak_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// refused is a run on a machine of so many bytes whose process of so many died of an
// exception.
func refused(machine, held int64, name, text string) *record.Run {
	one := 1
	detail, _ := json.Marshal(record.Died{Text: text})
	return &record.Run{Meta: record.Meta{ExitCode: &one, Machine: &record.Machine{MemoryBytes: &machine}},
		Samples: record.NewSamples([]string{record.ColPID, record.ColFootprint},
			[][]float64{{7, 8, 7}, {float64(held), 1 << 50, 100}}),
		Events: []record.Event{{PID: 7, TMs: 5, Kind: record.KindDied, Name: name, Detail: detail}}}
}

func TestAProgramThatWasRefusedHostMemoryIsToldWhy(t *testing.T) {
	t.Parallel()
	const gib = int64(1 << 30)
	torch := func(bytes string) string {
		return "[enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to " +
			"allocate " + bytes + " bytes. Error code 12 (Cannot allocate memory)"
	}
	sure := peak.Growth{Sure: true, Class: "host-growth", Claim: "host memory grows by 3 GiB in 55 s."}
	for _, c := range []struct {
		run    *record.Run
		growth peak.Growth
		reason peak.Reason
		want   string
	}{
		{refused(16*gib, gib, "builtins.RuntimeError", torch("34359738368")), sure, peak.Request,
			"it asked for 32.0 GiB of host memory at once, and the machine has 16.0 GiB."},
		{refused(16*gib, gib, "builtins.RuntimeError", torch("134217728")), sure, peak.Growing,
			"it grew until it was refused 128 MiB more of host memory: host memory grows by 3 GiB in 55 s."},
		{refused(16*gib, 2*gib, "builtins.RuntimeError", torch("4294967296")), sure, peak.Host,
			"it held 2 GiB and was refused 4 GiB more of host memory; the machine has 16.0 GiB, so that its own " +
				"limit (ulimit -v), its container's, or what others hold stands in the way."},
		{refused(16*gib, 3*gib, "builtins.RuntimeError", torch("134217728")), peak.Growth{}, peak.Host,
			"it held 3 GiB and was refused 128 MiB more of host memory; the machine has 16.0 GiB, so that its own " +
				"limit (ulimit -v), its container's, or what others hold stands in the way."},
		{refused(16*gib, 15*gib, "numpy._core._exceptions._ArrayMemoryError",
			"Unable to allocate 2.00 GiB for an array with shape (268435456,) and data type float64"), peak.Growth{},
			peak.Host, "it held 15.0 GiB and was refused 2 GiB more of host memory; the machine has 16.0 GiB."},
		{refused(16*gib, 15*gib, "builtins.MemoryError", ""), peak.Growth{}, peak.Host,
			"it held 15.0 GiB and was refused more host memory; the machine has 16.0 GiB."},
		{refused(16*gib, 15*gib, "builtins.OSError", "[Errno 12] Cannot allocate memory"), peak.Growth{}, peak.Host,
			"it held 15.0 GiB and was refused more host memory; the machine has 16.0 GiB."},
	} {
		o := peak.OutOfMemory(c.run, c.growth)
		if o == nil || !o.Died || o.Reason != c.reason || o.Sentence != c.want {
			t.Errorf("got %+v, want %s: %s", o, c.reason, c.want)
		}
	}
}

func TestTheLineThatWasRefusedMemoryIsNamed(t *testing.T) {
	t.Parallel()
	run := refused(16<<30, 15<<30, "builtins.MemoryError", "")
	run.Events[0].At = "/src/train.py:12 load"
	o := peak.OutOfMemory(run, peak.Growth{})
	if o.Sentence != "it held 15.0 GiB and was refused more host memory at train.py:12 load; the machine has 16.0 "+
		"GiB." || o.Site != "/src/train.py:12 load" {
		t.Errorf("%+v", o)
	}
}

func TestAKillForWantOfHostMemoryNamesTheGrowthThatLedToIt(t *testing.T) {
	t.Parallel()
	run := &record.Run{Meta: record.Meta{Signal: "SIGKILL"}, Events: []record.Event{{Kind: record.KindEvent,
		Name: record.EventKilled}}}
	g := peak.Growth{Sure: true, Claim: "host memory grows by 3 GiB in 55 s."}
	if o := peak.OutOfMemory(run, g); !strings.HasSuffix(o.Sentence,
		"at its limit; host memory grows by 3 GiB in 55 s.") {
		t.Errorf("%q", o.Sentence)
	}
}

func TestAKillForWantOfHostMemoryHasItsNumbers(t *testing.T) {
	t.Parallel()
	run := &record.Run{Meta: record.Meta{Signal: "SIGKILL",
		CapacityBytes: map[string]int64{record.LimitCgroup: 2 << 30}},
		Samples: record.NewSamples([]string{record.ColFootprint}, [][]float64{{1 << 30, 3 << 29}}),
		Events:  []record.Event{{Kind: record.KindEvent, Name: record.EventKilled}}}
	want := "the kernel killed the program because host memory ran out, when it held about 1.50 GiB; " +
		"its control group may have 2 GiB."
	if o := peak.OutOfMemory(run, peak.Growth{}); o.Sentence != want {
		t.Errorf("%q", o.Sentence)
	}
}

// spaced is a run that failed, of which a process had so much of its address space.
func spaced(limit, peak int64, died string) *record.Run {
	one := 1
	detail, _ := json.Marshal(record.AddressSpace{Limit: limit, Peak: peak})
	run := &record.Run{Meta: record.Meta{ExitCode: &one}}
	if died != "" {
		run.Events = append(run.Events, record.Event{PID: 7, Kind: record.KindDied, Name: died,
			Detail: []byte(`{"text":"x"}`)})
	}
	run.Events = append(run.Events, record.Event{PID: 7, TMs: 40, Kind: record.KindEvent,
		Name: record.EventAddressSpace, Detail: detail})
	return run
}

func TestANativeProgramThatFailsAtItsLimitOfAddressSpaceIsToldSo(t *testing.T) {
	t.Parallel()
	const gib = int64(1 << 30)
	o := peak.OutOfMemory(spaced(2*gib, 2*gib-gib/16, ""), peak.Growth{})
	const want = "it failed when its address space had come to 1.94 GiB of the 2 GiB that it may have (ulimit -v), " +
		"so that it was probably refused more."
	if o == nil || o.Reason != peak.Host || o.Sentence != want || o.AtMs != 40 || !o.Died {
		t.Fatalf("%+v", o)
	}
	grown := peak.Growth{Sure: true, Class: "host-growth", Claim: "host memory grows by 3 GiB in 55 s."}
	if o := peak.OutOfMemory(spaced(2*gib, 2*gib-1, ""), grown); o.Reason != peak.Growing ||
		!strings.HasSuffix(o.Sentence, "refused more; host memory grows by 3 GiB in 55 s.") {
		t.Errorf("%+v", o)
	}
	well := spaced(2*gib, 2*gib-1, "")
	well.Meta.ExitCode = new(int)
	for name, run := range map[string]*record.Run{
		"far from its limit": spaced(2*gib, gib, ""), "it ended well": well,
		"of another exception": spaced(2*gib, 2*gib-1, "builtins.KeyError"), "nonsense": spaced(-1, 5, ""),
	} {
		if o := peak.OutOfMemory(run, grown); o != nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
	run := refused(16*gib, gib, "builtins.MemoryError", "")
	run.Events = append(run.Events, spaced(2*gib, 2*gib-1, "").Events...)
	if o := peak.OutOfMemory(run, peak.Growth{}); o.Sentence != "it held 1 GiB and was refused more host "+
		"memory: its address space may have 2 GiB (ulimit -v), and had come to 2.00 GiB." {
		t.Errorf("%s", o.Sentence)
	}
	run = refused(16*gib, gib, "builtins.MemoryError", "Unable to allocate 1.00 GiB for an array")
	run.Events = append(run.Events, spaced(2*gib, 2*gib-gib/4, "").Events...)
	if o := peak.OutOfMemory(run, peak.Growth{}); len(o.Saves) != 1 || o.Saves[0].Bytes != gib-gib/4 ||
		!strings.HasSuffix(o.Sentence, "had come to 1.75 GiB. "+
			"A limit of address space that is 768 MiB higher: the request would have fit.") {
		t.Errorf("%s %+v", o.Sentence, o.Saves)
	}
}

func TestAnErrorTellsTheLimitOfAddressSpaceThatNobodySawBefore(t *testing.T) {
	t.Parallel()
	const gib = int64(1 << 30)
	run := refused(16*gib, gib, "builtins.MemoryError", "Unable to allocate 1.00 GiB for an array")
	for i := range run.Events {
		if e := &run.Events[i]; e.Kind == record.KindDied {
			d, _ := record.DetailOf[record.Died](e)
			d.AddressesLimit, d.Addresses = 2*gib, 2*gib-gib/4
			e.Detail, _ = json.Marshal(d)
		}
	}
	if o := peak.OutOfMemory(run, peak.Growth{}); !strings.Contains(o.Sentence, "its address space may have 2 GiB "+
		"(ulimit -v), and had come to 1.75 GiB. A limit of address space that is 768 MiB higher") {
		t.Errorf("%s", o.Sentence)
	}
}

func TestAProcessThatTheKernelKilledIsNamedAlsoWhereTheProgramWentOn(t *testing.T) {
	t.Parallel()
	const gib = int64(1 << 30)
	sure := peak.Growth{Sure: true, Class: "host-growth", Claim: "host memory grows by 3 GiB in 55 s."}
	for _, code := range []int{0, 1, 137} {
		run := refused(16*gib, gib, "builtins.RuntimeError", "DataLoader worker exited unexpectedly")
		run.Meta.ExitCode = &code
		run.Meta.CapacityBytes = map[string]int64{record.LimitCgroup: 4 * gib}
		detail, _ := json.Marshal(record.Killed{Name: "python3 train.py", Held: 3 * gib})
		run.Events = append(run.Events, record.Event{PID: 9, TMs: 70, Kind: record.KindEvent,
			Name: record.EventKilled, Detail: detail})
		o := peak.OutOfMemory(run, sure)
		const want = "the kernel killed process 9 (python3 train.py) because host memory ran out, when it held " +
			"about 3 GiB; its control group may have 4 GiB; host memory grows by 3 GiB in 55 s."
		if o == nil || !o.Ended() || o.Reason != peak.Killed || o.Sentence != want || o.AtMs != 70 ||
			o.PID != 9 ||
			!o.Tells(sure.Claim) {
			t.Errorf("exit code %d: %+v", code, o)
		}
	}
}

func TestALimitOfMappingsIsToldWhereThereAreAsMany(t *testing.T) {
	t.Parallel()
	const gib = int64(1 << 30)
	for _, c := range []struct {
		mappings int64
		reason   peak.Reason
	}{{65529, peak.Limit}, {300, peak.Host}, {0, peak.Host}} {
		run := refused(16*gib, gib, "builtins.OSError", "[Errno 12] Cannot allocate memory")
		run.Events[0].Detail, _ = json.Marshal(record.Died{Text: "[Errno 12] Cannot allocate memory",
			Mappings: c.mappings, MappingsLimit: 65530})
		o := peak.OutOfMemory(run, peak.Growth{})
		if o.Reason != c.reason || c.reason == peak.Limit && (!strings.HasPrefix(o.Sentence,
			"it had 65,529 mappings of memory, and the system allows 65,530 (vm.max_map_count): ") ||
			!strings.Contains(o.Advice(), "sysctl")) {
			t.Errorf("%d mappings: %+v, %s", c.mappings, o, o.Advice())
		}
	}
}

func TestAKillAfterErrorsThatWereCaughtIsTheReason(t *testing.T) {
	t.Parallel()
	run := recorded(t, "caught")
	run.Meta.ExitCode, run.Meta.Signal = nil, "SIGKILL"
	run.Events = append(run.Events, record.Event{PID: 7, TMs: 9000, Kind: record.KindEvent,
		Name: record.EventKilled})
	if o := peak.OutOfMemory(run, peak.Growth{}); o == nil || o.Reason != peak.Killed || !o.Ended() {
		t.Errorf("%+v", o)
	}
}

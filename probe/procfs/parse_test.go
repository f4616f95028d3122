package procfs

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

const statText = "42 (a) S 1 (b) S 7 1 1 0 -1 2129984 10 99 5 99 150 50 9 9 20 0 3 0 90000 1000 12 0\n"

func TestStatIsReadAfterANameThatMayHoldAnything(t *testing.T) {
	t.Parallel()
	s, ok := ParseStat([]byte(statText))
	want := Stat{Name: []byte("a) S 1 (b"), State: 'S', Parent: 7, Session: 1, Kernel: true, Faults: 15,
		CPU: 2 * time.Second, Threads: 3, Start: 90000, Pages: 12}
	if !ok || !reflect.DeepEqual(s, want) {
		t.Errorf("%+v, %v, want %+v", s, ok, want)
	}
	short, ok := ParseStat([]byte(statText[:strings.Index(statText, " 1000 12")]))
	if !ok || short.Start != 90000 || short.Pages != Unknown {
		t.Errorf("a text that ends after the start: %+v, %v", short, ok)
	}
	for _, bad := range []string{
		"", ")(", "7 x S 1", "7 (x) S", "7 (x) S a" + strings.Repeat(" 1", 30), "7 (x) SS" +
			strings.Repeat(" 1", 30), "7 (x) S 1" + strings.Repeat(" z", 30),
	} {
		if s, ok := ParseStat([]byte(bad)); ok {
			t.Errorf("%q passed as %+v", bad, s)
		}
	}
}

func TestStatusTellsMemoryGroupUserAndRights(t *testing.T) {
	t.Parallel()
	text := "Name:\tx\nTgid:\t10\nUid:\t1\t2\t3\t4\nVmRSS:\t 60 kB\nRssAnon:\t 10 kB\nVmData:\t 30 kB\nVmSwap:\t 0 " +
		"kB\nHugetlbPages:\t 4096 kB\nThreads:\t7\nCapEff:\t000001ffffffffff\n"
	want := Status{Memory: Memory{60 << 10, 10 << 10, Unknown, Unknown, 30 << 10, 0, 4 << 20, 7}, Group: 10, UID: 2,
		Capabilities: 1<<41 - 1}
	if got := ParseStatus([]byte(text)); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := ParseMemory([]byte(text)); got != want.Memory {
		t.Errorf("memory alone %+v, want %+v", got, want.Memory)
	}
	nothing := Status{Memory: unknownMemory(), UID: int(Unknown)}
	for _, bad := range []string{"", "VmRSS\nVmRSS:\nVmRSS: x kB\nRssAnon:::",
		"Uid:\t1\nTgid: x\nCapEff: zz\n", "VmRSS: 99999999999999999999 kB\n"} {
		if got := ParseStatus([]byte(bad)); got != nothing {
			t.Errorf("%q: %+v, want nothing known", bad, got)
		}
	}
}

func TestTheFootprintHasHugePagesAndNoCleanPagesOfFiles(t *testing.T) {
	t.Parallel()
	const old = "VmRSS:\t 60 kB\nVmSwap:\t 5 kB\n"
	for text, want := range map[string]int64{
		"VmRSS:\t 60 kB\nRssAnon:\t 10 kB\nRssShmem:\t 3 kB\nVmSwap:\t 5 kB\nHugetlbPages:\t 2048 kB\nThreads:\t1\n": 2066 << 10,
		"VmRSS:\t 60 kB\nRssAnon:\t 10 kB\nRssShmem:\t 3 kB\nVmSwap:\t 5 kB\n":                                       18 << 10,
		old: 65 << 10, "VmRSS:\t 60 kB\n": Unknown,
	} {
		if m := ParseMemory([]byte(text)); m.Footprint() != want {
			t.Errorf("%q: %d bytes, want %d", text, m.Footprint(), want)
		}
	}
}

func TestStatmIsThreeNumbersOfPages(t *testing.T) {
	t.Parallel()
	if s, ok := ParseStatm([]byte("100 50 20 1 0 30 0\n")); !ok || s != (Statm{100, 50, 20}) {
		t.Errorf("%+v, %v", s, ok)
	}
	for _, bad := range []string{"", "1 2", "what", "1 2 9999999999999999"} {
		if s, ok := ParseStatm([]byte(bad)); ok {
			t.Errorf("%q passed as %+v", bad, s)
		}
	}
}

func TestNSpidGivesThePIDInEveryNamespace(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]int{
		"Name:\tx\nNSpid:\t4026\t17\t1\nVmRSS:\t1 kB\n": {4026, 17, 1},
		"NSpid:\t9": {9}, "NSpid:\tx\n": nil, "": nil, "NSpid:\t-1\n": nil,
	} {
		if got := ParseNSpid([]byte(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %v, want %v", in, got, want)
		}
	}
}

func TestStringsKeepAnEmptyLastOne(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][]string{"": nil, "a\x00b c\x00": {"a", "b c"}, "a\x00\x00": {"a", ""},
		"a": {"a"}} {
		if got := ParseStrings([]byte(in)); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCgroupsOfBothVersionsAreRead(t *testing.T) {
	t.Parallel()
	got := ParseCgroups([]byte("12:cpu,memory:/a:b\nbad\n1:name=systemd:/x\n0::/user.slice\n"))
	want := []Cgroup{{12, []string{"cpu", "memory"}, "/a:b"}, {1, []string{"name=systemd"}, "/x"},
		{0, nil, "/user.slice"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestWhatMeminfoAndUptimeDoNotTellIsUnknown(t *testing.T) {
	t.Parallel()
	if m := ParseMeminfo([]byte("MemTotal:  5 kB\nSwapFree: 0 kB\nMemAvailable: x\n")); m != (Meminfo{5 << 10,
		Unknown, Unknown, 0}) {
		t.Errorf("%+v", m)
	}
	if d, ok := ParseUptime([]byte("1000.50 900.00\n")); !ok || d != 1000500*time.Millisecond {
		t.Errorf("%v, %v", d, ok)
	}
	for _, bad := range []string{"", "-1 2", "NaN", "x", "1e300"} {
		if d, ok := ParseUptime([]byte(bad)); ok {
			t.Errorf("%q passed as %v", bad, d)
		}
	}
}

// What is on the path of a sample allocates nothing.
func TestTheHotParsersAllocateNothing(t *testing.T) {
	stat, status, statm := []byte(statText),
		[]byte("Name:\tx\nVmRSS:\t 60 kB\nRssAnon:\t 10 kB\nVmSwap:\t 0 kB\n"), []byte("100 50 20 1 0 30 0\n")
	if n := testing.AllocsPerRun(100, func() {
		ParseStat(stat)
		ParseMemory(status)
		ParseStatus(status)
		ParseStatm(statm)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzParsers holds that no file panics and that what is known is not negative.
func FuzzParsers(f *testing.F) {
	for _, seed := range []string{
		statText, ")(", "VmRSS:\t 60 kB\nRssAnon:\t 10 kB\nVmSwap: 999999999999999999999 kB",
		"VmRSS:\n:\nR\nNSpid:\t1 2\n",
		"100 50 20", "a\x00b\x00", "0::/x\n3:memory:/y\n", "MemTotal: 5 kB\n", "12.5 3\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := ParseStat(b); ok && (s.Parent < 0 || s.Faults < 0 || s.CPU < 0 || s.Threads < 0 ||
			s.Start < 0 || s.Pages < Unknown) {
			t.Fatalf("stat %+v", s)
		}
		s := ParseStatus(b)
		for _, m := range []Memory{s.Memory, ParseMemory(b)} {
			if min(m.RSS, m.Anon, m.File, m.Shmem, m.Reserved, m.Swap, m.Huge, m.Threads) < Unknown {
				t.Fatalf("memory %+v", m)
			}
		}
		if s.Group < 0 || s.UID < int(Unknown) {
			t.Fatalf("status %+v", s)
		}
		if m, ok := ParseStatm(b); ok && min(m.Size, m.Resident, m.Shared) < 0 {
			t.Fatalf("statm %+v", m)
		}
		if m := ParseMeminfo(b); min(m.Total, m.Available, m.SwapTotal, m.SwapFree) < Unknown {
			t.Fatalf("meminfo %+v", m)
		}
		if d, ok := ParseUptime(b); ok && d < 0 {
			t.Fatalf("uptime %v", d)
		}
		for _, g := range ParseCgroups(b) {
			if g.Hierarchy < 0 {
				t.Fatalf("cgroup %+v", g)
			}
		}
		for _, pid := range ParseNSpid(b) {
			if pid < 0 {
				t.Fatalf("pid %d", pid)
			}
		}
		if n := len(ParseStrings(b)); n > len(b)+1 {
			t.Fatalf("%d strings in %d bytes", n, len(b))
		}
	})
}

func BenchmarkParse(b *testing.B) {
	status := []byte("Name:\tx\n" + strings.Repeat("Filler:\t1\n", 20) +
		"VmRSS:\t 60 kB\nRssAnon:\t 10 kB\nRssFile:\t 10 kB\nRssShmem:\t 10 kB\nVmSwap:\t 0 kB\n")
	for name, parse := range map[string]func(){
		"stat": func() { ParseStat([]byte(statText)) }, "memory": func() { ParseMemory(status) },
		"statm": func() { ParseStatm([]byte("100 50 20 1")) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parse()
			}
		})
	}
}

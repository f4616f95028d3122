package mapping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/gpumem/gpumem/probe/probetest"
	"github.com/gpumem/gpumem/probe/procfs"
)

func TestEveryNameHasItsKind(t *testing.T) {
	t.Parallel()
	cases := []struct {
		path string
		kind Kind
		name string
	}{
		{"", Anonymous, ""},
		{"[heap]", Heap, ""},
		{"[stack]", Stack, ""},
		{"[stack:1234]", Stack, ""},
		{"[anon:Go: heap]", Anonymous, "Go: heap"},
		{"[anon_shmem:ring]", Shared, "ring"},
		{"[vdso]", Kernel, "[vdso]"},
		{"/usr/bin/python3.12", Executable, "python3.12"},
		{"/usr/lib/x86_64-linux-gnu/libcuda.so.580.159.04", Library, "libcuda"},
		{"/venv/numpy/core/_multiarray_umath.cpython-312-x86_64-linux-gnu.so", Library, "_multiarray_umath"},
		{"/venv/x/_imaging.abi3.so", Library, "_imaging"},
		{"/lib64/ld-linux-x86-64.so.2", Library, "ld-linux-x86-64"},
		{"/opt/libstdc++.so.6.0.30", Library, "libstdc++"},
		{"/home/x/notes.something", File, "/home/x/notes.something"},
		{"/dev/nvidia0", NVIDIA, "/dev/nvidia0"},
		{"/dev/nvidia-uvm", NVIDIA, "/dev/nvidia-uvm"},
		{"/dev/dri/renderD128", DRI, "/dev/dri/renderD128"},
		{"/dmabuf:", DRI, "buffers"},
		{"/dev/kfd", KFD, "/dev/kfd"},
		{"/dev/shm/torch_1", Shared, "/dev/shm/torch_1"},
		{"/memfd:nccl", Shared, "memfd:nccl"},
		{"/SYSV0052e2c1", Shared, "SYSV"},
		{"/dev/zero", Shared, "anonymous"},
		{"/data/model.gguf", File, "/data/model.gguf"},
	}
	for _, c := range cases {
		if kind, name := Classify(c.path, "/usr/bin/python3.12"); kind != c.kind || name != c.name {
			t.Errorf("%q: %v %q, want %v %q", c.path, kind, name, c.kind, c.name)
		}
	}
	if s := Kind(200).String(); s != "unknown" {
		t.Errorf("a kind from nowhere is %q", s)
	}
}

const smaps = `55d0c0000000-55d0c0100000 r-xp 00000000 fe:00 1234                       /usr/bin/prog
Size:               1024 kB
Rss:                 512 kB
Pss:                 256 kB
Private_Clean:       100 kB
Private_Dirty:         0 kB
VmFlags: rd ex mr mw me
55d0c1000000-55d0c2000000 rw-p 00000000 00:00 0                          [heap]
Size:              16384 kB
Rss:                8192 kB
Private_Clean:         0 kB
Private_Dirty:      8192 kB
Anonymous:          8192 kB
7f0000000000-7f0000100000 rw-s 00000000 00:05 77                         /dev/nvidia-uvm
Size:               1024 kB
Rss:                   0 kB
7f0010000000-7f0010100000 r--p 00000000 fe:00 99                         /tmp/a\012b (deleted)
Size:               1024 kB
Rss:                  12 kB
7f0020000000-7f0020100000 rw-p 00000000 00:00 0
Rss:                  oops
7f0030000000-7f0030100000 rw-p 00000000 00:00 0 
Rss:                   4 kB
Private_Hugetlb:    2048 kB
Shared_Hugetlb:     4096 kB
`

// process writes a made-up proc folder and returns its root.
func process(tb testing.TB, pid int, files map[string]string) string {
	tb.Helper()
	root := probetest.NewRoot(tb)
	dir := "proc/" + strconv.Itoa(pid)
	root.Folder(dir)
	for name, text := range files {
		root.File(dir+"/"+name, text)
	}
	return root.Path
}

func TestGroupsAddUpToTheTotal(t *testing.T) {
	t.Parallel()
	root := process(t, 7, map[string]string{"smaps": smaps})
	r, err := Attribute(context.Background(), 7, Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if r.Mappings != 6 || r.Partial || r.Bad != 1 || r.Total.RSS != (512+8192+12+4)<<10 ||
		r.Total.Hugetlb != 6144<<10 {
		t.Errorf("got %+v", r)
	}
	if g := r.Groups[0]; g.Kind != Heap || g.Usage.RSS != 8192<<10 || g.Usage.USS() != 8192<<10 ||
		g.Path != "" {
		t.Errorf("first group %+v", g)
	}
	var rss int64
	for kind, u := range r.ByKind() {
		if u.RSS != Unknown {
			rss += u.RSS
		}
		if kind == NVIDIA && (u.RSS != 0 || u.PSS != Unknown) {
			t.Errorf("nvidia: %+v", u)
		}
	}
	if rss != r.Total.RSS {
		t.Errorf("kinds sum up to %d, total %d", rss, r.Total.RSS)
	}
	for _, g := range r.Groups {
		if g.Name == "/tmp/a\nb" && g.Kind == File {
			return
		}
	}
	t.Errorf("the escaped, deleted file is missing: %+v", r.Groups)
}

func TestAPartOfTheAnswerIsMarkedWhenTheBudgetRunsOut(t *testing.T) {
	t.Parallel()
	root := process(t, 7, map[string]string{"smaps": smaps, "statm": "100 50 1 1 0 1 0"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := Attribute(ctx, 7, Options{Root: root})
	if err != nil || !r.Partial || r.Mappings != 0 || r.Total.RSS != Unknown ||
		!strings.Contains(r.Reason, "budget") {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestABudgetThatEndsMidwayKeepsWhatWasRead(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	text := strings.Repeat(smaps, 10)
	n := 0
	r := &budgeted{ctx: ctx, r: readerFunc(func(p []byte) (int, error) {
		if n += 512; n > 2048 {
			cancel()
		}
		return copy(p, text[n-512:n]), nil
	})}
	s := procfs.NewScanner(r)
	entries := 0
	for s.Scan() {
		entries++
	}
	if !r.out || s.Err() != nil || entries < 3 || entries > 20 {
		t.Errorf("%d entries, out %v, %v", entries, r.out, s.Err())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestRollupTakesTheKernelsSumOnlyWhenItFitsTheBudget(t *testing.T) {
	t.Parallel()
	rollup := "55d0c0000000-7ffffffff000 ---p 00000000 00:00 0   [rollup]\nRss:  999 kB\nPss: 500 " +
		"kB\nSwap: 3 kB\n"
	files := map[string]string{"smaps": smaps, "smaps_rollup": rollup, "statm": "100 50 1 1 0 1 0"}
	r, err := Rollup(context.Background(), 7, Options{Root: process(t, 7, files)})
	if err != nil || r.Total.RSS != 999<<10 || r.Total.Swap != 3<<10 || r.Total.Locked != Unknown {
		t.Errorf("small process: %+v, %v", r, err)
	}
	files["statm"] = "9000000000 9000000000 1 1 0 1 0" // hours of walking
	r, err = Rollup(context.Background(), 7, Options{Root: process(t, 7, files)})
	if err != nil || r.Mappings != 6 || len(r.Groups) != 0 || r.Total.RSS == 999<<10 {
		t.Errorf("huge process: %+v, %v", r, err)
	}
	delete(files, "smaps_rollup")
	files["statm"] = "1 1"
	r, err = Rollup(context.Background(), 7, Options{Root: process(t, 7, files)})
	if err != nil || r.Mappings != 6 {
		t.Errorf("old kernel: %+v, %v", r, err)
	}
}

func TestAProcessThatDoesNotExistIsSaidSo(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, ask := range []func(context.Context, int, Options) (Report, error){Rollup, Attribute} {
		if _, err := ask(context.Background(), 7, Options{Root: root}); !errors.Is(err, fs.ErrNotExist) ||
			!strings.Contains(err.Error(), "process 7") {
			t.Errorf("got %v", err)
		}
	}
}

func TestManyNamesDoNotMakeManyGroups(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range maxGroups + 500 {
		fmt.Fprintf(&b, "%x-%x r--p 00000000 fe:00 %d /f/%d\nRss: 4 kB\n", i*8192, i*8192+4096, i+1, i)
	}
	r, err := Attribute(context.Background(), 7,
		Options{Root: process(t, 7, map[string]string{"smaps": b.String()}), Budget: time.Minute})
	if err != nil || len(r.Groups) != maxGroups+1 || r.Total.RSS != (maxGroups+500)*4096 {
		t.Fatalf("%d groups, %d bytes, %v", len(r.Groups), r.Total.RSS, err)
	}
	if g := r.Groups[0]; g.Name != overflow || g.Mappings != 500 || g.Path != "" {
		t.Errorf("got %+v", g)
	}
}

func count(r io.Reader) int {
	s := procfs.NewScanner(r)
	n := 0
	for s.Scan() {
		n++
	}
	return n
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte(smaps))
	f.Add([]byte("0-0 ---- 0 : 0\nRss: 9223372036854775807 kB\nRss: 9007199254740991 kB\n"))
	f.Add([]byte("7f-80 r-xp 0 0:0 1 /a\\777\\0\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := procfs.NewScanner(bytes.NewReader(b))
		tally := tally{index: make(map[groupKey]int), report: Report{Total: procfs.UnknownUsage()}}
		n := 0
		for s.Scan() {
			n++
			m, u := s.Mapping(), s.Usage()
			if m.End < m.Start || u.RSS < Unknown || u.Hugetlb < Unknown {
				t.Fatalf("impossible entry %+v %+v", m, u)
			}
			tally.add(s, true)
		}
		if s.Err() != nil || n > bytes.Count(b, []byte("\n"))+1 || tally.report.Mappings != n ||
			tally.report.Total.RSS < Unknown {
			t.Fatalf("%d entries, %v", n, s.Err())
		}
		if count(iotest.HalfReader(bytes.NewReader(b))) != n {
			t.Fatal("the reader's pieces change the entries")
		}
	})
}

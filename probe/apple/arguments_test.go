package apple

import (
	"reflect"
	"strings"
	"testing"
)

// procargs builds what the sysctl kern.procargs2 gives: the count, the path
// with zeros up to a boundary, the strings.
func procargs(count byte, path string, strs ...string) []byte {
	b := append([]byte{count, 0, 0, 0}, path...)
	b = append(b, make([]byte, 8-len(b)%8)...)
	return append(b, strings.Join(strs, "\x00")+"\x00"...)
}

func TestArgumentsAndEnvironmentAreToldApart(t *testing.T) {
	t.Parallel()
	b := procargs(3, "/usr/bin/python3", "python3", "", "train.py", "HOME=/", "NSZombieEnabled=YES")
	b = append(b, "\x00ptr_munge=\x00executable_path=/usr/bin/python3\x00"...)
	got, err := ParseArguments(b)
	want := Arguments{Path: "/usr/bin/python3", Command: []string{"python3", "", "train.py"},
		Env: []string{"HOME=/", "NSZombieEnabled=YES"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
}

func TestArgumentsMayBeCutOffAnywhere(t *testing.T) {
	t.Parallel()
	b := procargs(2, "/bin/x", "x", "y", "A=1")
	for n := range b {
		a, err := ParseArguments(b[:n])
		if (err != nil) != (n < 4) || len(a.Command) > 2 || len(a.Env) > 1 {
			t.Errorf("%d B: %+v, %v", n, a, err)
		}
	}
	if _, err := ParseArguments([]byte{0xff, 0xff, 0xff, 0xff, 'x', 0}); err == nil {
		t.Error("a negative number of arguments was taken")
	}
}

func TestToolsThatKeepMemoryAreNamedAndNothingElseOfTheEnvironment(t *testing.T) {
	t.Parallel()
	on := Tooling([]string{
		"NSZombieEnabled=YES", "MTL_CAPTURE_ENABLED=1", "MTL_DEBUG_LAYER=0", "MallocStackLogging=no",
		"SECRET=abc",
		"DYLD_INSERT_LIBRARIES=/usr/lib/libgmalloc.dylib", "nonsense",
	})
	want := []Tool{
		{"MTL_CAPTURE_ENABLED", "1", "GPU capture"},
		{"NSZombieEnabled", "YES", "zombie objects, which are never freed"},
		{"DYLD_INSERT_LIBRARIES", "libgmalloc", "a library of a tool"},
	}
	if !reflect.DeepEqual(on, want) {
		t.Errorf("%v, want %v", on, want)
	}
	if s := want[1].String(); s != "NSZombieEnabled=YES: zombie objects, which are never freed" {
		t.Error(s)
	}
	if on := Tooling(nil); on != nil {
		t.Errorf("%v of an empty environment", on)
	}
}

func FuzzArguments(f *testing.F) {
	f.Add(procargs(2, "/bin/x", "x", "y", "A=1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := ParseArguments(b)
		if err == nil && len(a.Command) > maxStrings {
			t.Errorf("%d arguments", len(a.Command))
		}
		_ = Tooling(a.Env)
	})
}

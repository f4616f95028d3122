package capture

import "testing"

func TestThePlaceInTheProgramIsTheFirstThatIsNotTheLanguages(t *testing.T) {
	t.Parallel()
	const str = "/usr/include/c++/12/bits/basic_string.h:659 std::__cxx11::basic_string::basic_string"
	for name, c := range map[string]struct {
		chain []string
		want  string
	}{
		"nothing": {nil, ""},
		"its own": {[]string{"app.cc:3 cache::put", "app.cc:9 main"}, "app.cc:3 cache::put"},
		"inlined into it": {[]string{str + ", inlined into app.cc:7 cache::put, inlined into app.cc:9 main"},
			"app.cc:7 cache::put, inlined into app.cc:9 main"},
		"called by it, without lines": {[]string{"app+0x10 std::vector::_M_realloc_insert",
			"app+0x20 cache::put"},
			"app+0x20 cache::put"},
		"Rust": {[]string{"app+0x10 <alloc::vec::Vec as core::iter::Extend>::extend",
			"app.rs:7 app::Cache::remember"},
			"app.rs:7 app::Cache::remember"},
		"Go": {[]string{"/usr/local/go/src/runtime/memclr_amd64.s:90 runtime.memclrNoHeapPointers",
			"/usr/local/go/src/runtime/malloc.go:90 runtime.mallocgc", "srv/main.go:19 main.remember"},
			"srv/main.go:19 main.remember"},
		"a word on the stack that is no call": {[]string{"app+0x30 std::string::append",
			"app+0x40 (build id 12)",
			"app+0x20 cache::put"}, "app+0x20 cache::put"},
		"a program without names": {[]string{"app+0x40 (build id 12)", "app+0x50 (build id 12)"},
			"app+0x40 (build id 12)"},
		"an allocator that is linked in": {[]string{"srv+0x10 tcmalloc::CentralFreeList::Populate", "srv.cc:8 main"},
			"srv.cc:8 main"},
		"the language's alone": {[]string{str, "app+0x30 std::thread::_M_run"}, ""},
	} {
		if got := ProgramsPlace(c.chain); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAnInterpreterIsKnownByItsFile(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/usr/bin/python3.12": true,
		"/usr/lib/libpython3.12.so.1.0": true,
		"/opt/julia/bin/julia":          true, "/opt/bin/server": false, "/usr/lib/libnodes.so": false,
		"": false} {
		if IsInterpreter(path) != want {
			t.Errorf("%q: %v", path, !want)
		}
	}
}

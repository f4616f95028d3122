package capture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inlinedCC asks for memory in a function of a template that is inlined twice. Its code
// lies in sequences that do not ascend in the table of lines: main and the template's
// own functions stand before.
const inlinedCC = `
#include <cstddef>
#include <cstdint>
#include <vector>
extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(uint64_t *, int);
int cuCtxSetCurrent(uint64_t);
int cuMemAlloc_v2(uint64_t *, size_t);
}
namespace app {
template <class T> struct Cache {
	std::vector<T> kept;
	inline __attribute__((always_inline)) void remember(size_t n)
	{
		T p;
		cuMemAlloc_v2(&p, n);
		kept.push_back(p);
	}
};
static Cache<uint64_t> cache;
static inline __attribute__((always_inline)) void step(int i) { if (i % 2 == 0) cache.remember(1 << 20); }
__attribute__((noinline)) void serve(int n)
{
	for (int i = 0; i < n; i++)
		step(i);
}
}
int main()
{
	uint64_t c;
	if (cuInit(0) || cuDevicePrimaryCtxRetain(&c, 0) || cuCtxSetCurrent(c))
		return 1;
	app::serve(20);
	return 0;
}
`

// inlinedRust is the same in Rust.
const inlinedRust = `
extern "C" {
    fn cuInit(f: u32) -> i32;
    fn cuDevicePrimaryCtxRetain(c: *mut u64, d: i32) -> i32;
    fn cuCtxSetCurrent(c: u64) -> i32;
    fn cuMemAlloc_v2(p: *mut u64, n: usize) -> i32;
}
mod cache {
    pub struct Cache { pub kept: Vec<u64> }
    impl Cache {
        #[inline(always)]
        pub fn remember(&mut self, n: usize) {
            let mut p = 0u64;
            unsafe { super::cuMemAlloc_v2(&mut p, n); }
            self.kept.push(p);
        }
    }
}
#[inline(never)]
fn serve(c: &mut cache::Cache, n: u32) {
    for i in 0..n {
        if i % 2 == 0 { c.remember(1 << 20); }
    }
}
fn main() {
    let mut x = 0u64;
    unsafe { cuInit(0); cuDevicePrimaryCtxRetain(&mut x, 0); cuCtxSetCurrent(x); }
    let mut c = cache::Cache { kept: Vec::new() };
    serve(&mut c, 20);
}
`

// placesIn runs a program and gives the place that holds most.
func placesIn(t *testing.T, program string, args ...string) string {
	t.Helper()
	e := run(t, launch{args: append([]string{program}, args...)})
	sites := e.reader.Sites(e.pid)
	if len(sites) == 0 {
		t.Fatalf("%s: no site; %s", program, e.stderr)
	}
	return sites[0].Site
}

func TestInlinedFramesOfEachLanguageHaveTheirNamesAndLines(t *testing.T) {
	t.Parallel()
	tools := build(t)
	dir, stub := t.TempDir(), tools.path("libcuda.so.1")
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rpath := "-Wl,-rpath," + filepath.Dir(stub)
	cc, rust := write("inlined.cc", inlinedCC), write("inlined.rs", inlinedRust)
	for name, c := range map[string]struct {
		build []string
		want  []string
	}{
		"C++": {[]string{"g++", "-O2", "-g", "-Wl,--build-id=sha1", "-o", filepath.Join(dir, "C++"), cc, stub, rpath},
			[]string{"inlined.cc:17 app::Cache", "remember, inlined into ", "inlined.cc:22 ", "step, inlined into ",
				"inlined.cc:26 app::serve"}},
		"Rust": {[]string{"rustc", "-O", "-g", "-o", filepath.Join(dir, "Rust"), rust, "-C", "link-arg=" + stub,
			"-C", "link-arg=" + rpath, "-C", "link-arg=-Wl,--build-id=sha1"},
			[]string{"inlined.rs:14 inlined::cache::Cache::remember, inlined into ", "inlined.rs:22 inlined::serve"}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(c.build[0]); err != nil {
				t.Skipf("no compiler: %v", err)
			}
			tool(t, c.build[0], c.build[1:]...)
			program := filepath.Join(dir, name)
			site := placesIn(t, program)
			for _, part := range c.want {
				if !strings.Contains(site, part) {
					t.Errorf("%q has no %q", site, part)
				}
			}
			apart := filepath.Join(dir, ".debug", name+".debug")
			if err := os.MkdirAll(filepath.Dir(apart), 0o755); err != nil {
				t.Fatal(err)
			}
			tool(t, "objcopy", "--only-keep-debug", program, apart)
			tool(t, "objcopy", "--strip-all", "--add-gnu-debuglink="+apart, program)
			if again := placesIn(t, program); again != site {
				t.Errorf("with the information in a file apart: %q", again)
			}
			if err := os.Remove(apart); err != nil {
				t.Fatal(err)
			}
			if bare := placesIn(t, program); !strings.HasPrefix(bare, name+"+0x") || !strings.Contains(bare, "(build id ") {
				t.Errorf("without any: %q", bare)
			}
		})
	}
}

// fortranF90 asks for memory in a procedure of a module and in one of none.
const fortranF90 = `
module fields
  use iso_c_binding
  implicit none
  interface
    integer(c_int) function init(f) bind(c, name="cuInit")
      import; integer(c_int), value :: f
    end function
    integer(c_int) function retain(c, d) bind(c, name="cuDevicePrimaryCtxRetain")
      import; integer(c_int64_t) :: c; integer(c_int), value :: d
    end function
    integer(c_int) function enter(c) bind(c, name="cuCtxSetCurrent")
      import; integer(c_int64_t), value :: c
    end function
    integer(c_int) function ask(p, n) bind(c, name="cuMemAlloc_v2")
      import; integer(c_int64_t) :: p; integer(c_size_t), value :: n
    end function
  end interface
contains
  subroutine refine(times)
    integer :: times, i
    integer(c_int64_t) :: p
    do i = 1, times
      if (ask(p, 1048576_c_size_t) /= 0) stop 1
    end do
  end subroutine
end module
subroutine plain_step(n)
  use fields
  integer :: n
  integer(c_int64_t) :: p
  if (ask(p, int(n, c_size_t)) /= 0) stop 1
end subroutine
program main
  use fields
  integer(c_int64_t) :: c
  character(len=8) :: what
  if (init(0) /= 0 .or. retain(c, 0) /= 0) stop 2
  if (enter(c) /= 0) stop 3
  call get_command_argument(1, what)
  if (what == "module") then
    call refine(4)
  else
    call plain_step(4096)
  end if
end program
`

func TestProceduresOfFortranHaveTheirNames(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gfortran"); err != nil {
		t.Skipf("no compiler: %v", err)
	}
	tools := build(t)
	dir, stub := t.TempDir(), tools.path("libcuda.so.1")
	source := filepath.Join(dir, "program.f90")
	if err := os.WriteFile(source, []byte(fortranF90), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, info := range []string{"-g", "-g0"} {
		program := filepath.Join(dir, "program"+info)
		tool(t, "gfortran", "-O1", "-fno-inline", info, "-J", dir, "-o", program, source, stub,
			"-Wl,-rpath,"+filepath.Dir(stub))
		plain := "plain_step"
		if info == "-g0" {
			plain = "plain_step_"
		}
		for what, want := range map[string]string{"module": " fields::refine", "none": " " + plain} {
			site := placesIn(t, program, what)
			if !strings.Contains(site, want) || info == "-g" && !strings.Contains(site, "program.f90:") {
				t.Errorf("%s, %s: %q has no %q", info, what, site, want)
			}
		}
	}
}

func TestAStrippedProgramInGoHasItsLines(t *testing.T) {
	t.Parallel()
	tools := build(t)
	program := filepath.Join(t.TempDir(), "server")
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", program, "testdata/fault_go/main.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l := launch{args: []string{program, "kept"}, env: []string{"FAULT_STEPS=20",
		"LD_LIBRARY_PATH=" + filepath.Dir(tools.path("libcuda.so.1"))}}
	e := run(t, l)
	site, ok := siteWith(e.reader.Sites(e.pid), "main.go:")
	if !ok || !strings.Contains(site.Site, "main.") {
		t.Errorf("sites %+v", e.reader.Sites(e.pid))
	}
}

// A program without cgo asks the driver for all through one function.
func TestTheFunctionThroughWhichAProgramCallsTheDriverIsNoPlace(t *testing.T) {
	t.Parallel()
	tools := build(t)
	program := filepath.Join(t.TempDir(), "server")
	cmd := exec.Command("go", "build", "-gcflags=-l", "-o", program, "testdata/fault_go/main.go")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e := run(t, launch{args: []string{program, "some"}, env: []string{"FAULT_STEPS=40",
		"LD_LIBRARY_PATH=" + filepath.Dir(tools.path("libcuda.so.1"))}})
	site, ok := siteWith(e.reader.Sites(e.pid), "main.go:")
	if !ok || !strings.Contains(site.Site, "main.remember") {
		t.Errorf("sites %+v", e.reader.Sites(e.pid))
	}
}

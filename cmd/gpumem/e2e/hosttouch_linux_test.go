package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer/record"
)

// hostPrograms keep what they make for 14 s; with an argument they keep the last hundred.
// The one in C++ does so in a child where KEPT_IN_CHILD is set, for 26 s: children are looked
// at later, and on a busy machine much later.
var hostPrograms = map[string]struct {
	source string
	build  []string // without the source
	place  string
}{
	"kept.cc": {`
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>
namespace cache {
std::unordered_map<int, std::string> all;
__attribute__((noinline)) void put(int n) { all[n] = std::string(20000, 'x'); }
}
int main(int argc, char **) {
	const bool child = getenv("KEPT_IN_CHILD");
	if (child && fork() > 0) return wait(nullptr) < 0;
	for (int i = 0; i < (child ? 5200 : 2800); i++, usleep(5000)) cache::put(argc > 1 ? i % 100 : i);
}
`, []string{"g++", "-O2", "-g", "-o"}, "kept.cc:9 in cache::put"},
	"kept.go": {`package main

import (
	"os"
	"time"
)

var all = map[int][]byte{}

//go:noinline
func put(n int) {
	all[n] = make([]byte, 20000)
	for i := range all[n] {
		all[n][i] = 1
	}
}

func main() {
	for i := range 2800 {
		if len(os.Args) > 1 {
			i %= 100
		}
		put(i)
		time.Sleep(5 * time.Millisecond)
	}
}
`, []string{"go", "build", "-o"}, "in main.put"},
}

func TestWhereANativeProgramTouchesTheHostMemoryThatItKeeps(t *testing.T) {
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	t.Parallel()
	dir := t.TempDir()
	for name, p := range hostPrograms {
		source, program := filepath.Join(dir, name), filepath.Join(dir, strings.ReplaceAll(name, ".", "_"))
		if err := os.WriteFile(source, []byte(p.source), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(p.build[0], append(p.build[1:], program,
			source)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		twins := []string{"faulty", "healthy"}
		if name == "kept.cc" {
			twins = append(twins, "faulty in a child")
		}
		for _, twin := range twins {
			t.Run(name+" "+twin, func(t *testing.T) {
				t.Parallel()
				args, want := []string{"-q", "--", program}, account.HostGrowth
				if twin == "healthy" {
					args, want = append(args, twin), account.None
				}
				var env []string
				if strings.HasSuffix(twin, "child") {
					env = []string{"KEPT_IN_CHILD=1"}
				}
				at := t.TempDir()
				_, v := decided(t, at, env, "run", args...)
				if v.Verdict != want {
					t.Errorf("%s", v.Summary)
				}
				if twin == "healthy" || strings.Contains(v.Summary, p.place) {
					return
				}
				run, err := record.Open(filepath.Join(at, "run"))
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range run.Events {
					if e.Kind == record.KindWarning && strings.HasPrefix(e.Text, "first touch: ") {
						t.Skipf("this machine lets nobody watch first touches: %s", e.Text)
					}
				}
				t.Errorf("no %q in %s", p.place, v.Summary)
			})
		}
	}
}

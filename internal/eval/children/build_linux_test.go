package children

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// machine is what all kinds share: a folder with gpumem and the compiled
// programs, and what keeps the machine from compiling some of them.
type machine struct {
	dir    string // removed at the end
	absent map[string]error
}

// shared is the machine of this test binary, set before the tests begin.
var shared machine

// atOnce is how many kinds run at the same time.
const atOnce = 4

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(atOnce)); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "gpumem-children-")
	if err == nil {
		// Some children are other users.
		err = os.Chmod(dir, 0o755)
	}
	if err == nil && !testing.Short() {
		shared, err = build(dir)
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// program is a program of testdata. One that cannot be compiled is missing for
// the kinds that need it.
type program struct {
	name    string
	command []string
}

func programs() []program {
	gcc := func(name string, args ...string) program {
		return program{name, append([]string{"gcc", "-O1", "-Wall", "-o", name}, args...)}
	}
	musl := func(name string, args ...string) program {
		return program{name, append([]string{"musl-gcc", "-O1", "-o", name}, args...)}
	}
	// Where a cross compiler is installed, Debian has no place for the 32-bit headers
	// of the kernel: those of 64 bits are the same.
	small := func(name string, args ...string) program {
		return gcc(name, append([]string{"-m32", "-isystem", "/usr/include/x86_64-linux-gnu"}, args...)...)
	}
	own := []string{"-shared", "-fPIC", "-fno-builtin"}
	acts := []string{"acts/main.c", "acts/starting.c", "acts/signals.c", "acts/loading.c", "acts/fenced.c",
		"acts/memory.c", "acts/sending.c"}
	return []program{
		gcc("launch", "launch.c"),
		gcc("look", "look.c"),
		gcc("look-static", "-static", "look.c"),
		small("look-32", "look.c"),
		musl("look-musl", "look.c"),
		musl("look-musl-static", "-static", "look.c"),
		gcc("hello", "-fno-builtin", "hello.c"),
		gcc("hello-static", "-static", "hello.c"),
		gcc("hello-static-pie", "-static-pie", "hello.c"),
		gcc("hello-no-pie", "-no-pie", "hello.c"),
		gcc("hello-now", "-Wl,-z,now", "hello.c"),
		small("hello-32", "hello.c"),
		small("hello-32-static", "-static", "hello.c"),
		gcc("hello-asan", "-fsanitize=address", "hello.c"),
		gcc("hello-profiled", "-pg", "hello.c"),
		musl("hello-musl", "hello.c"),
		musl("hello-musl-static", "-static", "hello.c"),
		gcc("acts", acts...),
		gcc("acts-static", append([]string{"-static", "-w"}, acts...)...),
		gcc("libown.so", append(own, "own.c")...),
		gcc("libaudit.so", append(own, "audit.c")...),
		{"hello-go", []string{"go", "build", "-o", "hello-go", "hello.go"}},
	}
}

// build compiles gpumem and the programs of testdata, side by side.
func build(dir string) (machine, error) {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return machine{}, err
	}
	all := programs()
	failures := make([]error, len(all))
	var group sync.WaitGroup
	for i, p := range all {
		group.Go(func() { failures[i] = p.compile(bin) })
	}
	gpumem := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "gpumem"), "./cmd/gpumem")
	gpumem.Dir = filepath.Join("..", "..", "..")
	gpumem.Env = append(os.Environ(), "CGO_ENABLED=0") // as it is released
	out, err := gpumem.CombinedOutput()
	group.Wait()
	if err != nil {
		return machine{}, fmt.Errorf("build gpumem: %w\n%s", err, out)
	}
	for _, name := range []string{"look.py"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			return machine{}, err
		}
		if err := os.WriteFile(filepath.Join(bin, name), text, 0o644); err != nil {
			return machine{}, err
		}
	}
	m := machine{dir: dir, absent: map[string]error{}}
	for i, p := range all {
		if failures[i] != nil {
			m.absent[p.name] = failures[i]
		}
	}
	return m, errors.Join(m.absent["launch"], m.absent["look"])
}

func (p program) compile(bin string) error {
	args := append([]string{}, p.command...)
	for i, arg := range args {
		if arg == p.name {
			args[i] = filepath.Join(bin, arg)
		}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = "testdata"
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s: %w\n%s", p.name, err, out)
	}
	return nil
}

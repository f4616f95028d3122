//go:build amd64

package attach

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEachValueOfPtraceScopeHasItsOwnRemedy(t *testing.T) {
	t.Parallel()
	const someone = 1000
	for _, c := range []struct {
		scope, user int
		want        string
	}{
		{0, someone, ""}, {0, 0, ""}, {1, 0, ""}, {2, 0, ""},
		{1, someone, "not a child of theirs (ptrace_scope is 1); run gpumem as root, or write 0"},
		{2, someone, "nobody but root trace a process (ptrace_scope is 2); run gpumem as root"},
		{3, someone, "root included (ptrace_scope is 3); it stays so until the system is started"},
		{3, 0, "root included (ptrace_scope is 3)"},
	} {
		r := refusedByYama(c.scope, c.user)
		if (r == nil) != (c.want == "") || r != nil && !isOneLineWith(r, c.want) {
			t.Errorf("scope %d, user %d: %v, want %q", c.scope, c.user, r, c.want)
		}
	}
}

func isOneLineWith(err error, want string) bool {
	return strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "\n")
}

func TestAStateThatForbidsAStopIsRefused(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]*status{
		"seccomp allows it no system call but read, write and exit": {state: 'S', seccomp: 1},
		"it ignores the signals by which a debugger stops": {state: 'R',
			ignored: 1 << (unix.SIGSEGV - 1)},
		"already traces it; a process can have only one tracer at a time": {state: 'S', tracer: 1 << 30},
		"process 1073741824 has stopped it; continue it there":            {state: 't', tracer: 1 << 30},
		"its main thread has ended":                                       {state: 'Z'},
		"it is stopped by a signal; continue it: kill -CONT 4242":         {state: 'T'},
		"": {state: 'S', seccomp: 2},
	} {
		err := errors.Join(checkState(4242, s), checkStop(s))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

func TestWhatKeepsAProcessFromMappingMemoryIsSaid(t *testing.T) {
	t.Parallel()
	p := &python{pid: 1}
	for errno, want := range map[unix.Errno]string{
		unix.ENOMEM: "at its limit of address space; start it with a higher one (ulimit -v)",
		unix.EPERM:  "it may not map memory: operation not permitted (a filter of system calls",
	} {
		if err := p.explain(fmt.Errorf("%w: %w", errRefused, errno)); !isOneLineWith(err, want) {
			t.Errorf("%v: %v, want %q", errno, err, want)
		}
	}
}

func TestEmulatorsAreToldFromVirtualMachines(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"qemu-aarch64-static": true, "qemu-arm": true, "qemu-x86_64": true,
		"qemu-system-x86_64": false, "qemu-img": false, "aarch64": false, "python3": false} {
		if isEmulator(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// A table of another version, or a damaged one, is none: the process is stopped instead.
func TestATableOfUnknownFormIsNotFollowed(t *testing.T) {
	t.Parallel()
	good := make([]uint64, tableWords)
	good[0] = 0x7970677562656478 // xdebugpy
	good[wordVersion] = 0x030e03f0
	good[wordInterpSize], good[wordThreadSize], good[wordPathSize] = 1<<17, 1<<10, pathSize
	if !isTable(good) {
		t.Fatal("the good one is not taken")
	}
	for word, value := range map[int]uint64{0: 1, wordVersion: 0x030f00a1, wordPathSize: 256,
		wordInterpNext: 1 << 17, wordNativeID: 1 << 10, wordSupport: 1 << 40, wordInterpSize: 0} {
		bad := append([]uint64(nil), good...)
		bad[word] = value
		if isTable(bad) {
			t.Errorf("word %d of %#x is taken", word, value)
		}
	}
	if at := runtimeAt(&elf.File{}, map[string]uint64{}, 0x1000); at != 0 {
		t.Errorf("a file without an interpreter's state has it at %#x", at)
	}
}

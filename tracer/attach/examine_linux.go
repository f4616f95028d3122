//go:build amd64 || arm64

package attach

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/procfs"
)

const proc procfs.Dir = ""

// tries and tryAgain are for what may be in the way for a moment only: a queue of calls
// that is full, another gpumem that traces the process.
const (
	tries    = 5
	tryAgain = 20 * time.Millisecond
)

// python is a process with an interpreter, and where its functions are.
type python struct {
	pid                                      int
	isInitialized, addPendingCall, runString uint64
	syscall                                  uint64
	runtime                                  uint64    // address of its state, 0 where unknown
	official                                 *official // nil where it has no such interface
	maps                                     []procfs.Mapping
}

// interpreterFile matches libraries that are an interpreter; alien are those of
// others than CPython.
var (
	interpreterFile = regexp.MustCompile(`^libpython[23][.0-9a-z]*\.so`)
	alien           = regexp.MustCompile(`^(lib)?(pypy|graalpy|pythonvm)`)
)

// examine finds out what is needed to enter a process, without touching it.
func examine(pid int) (*python, error) {
	state, err := restingStatus(pid)
	if err != nil {
		return nil, refusedBySystem(pid, err)
	}
	if err := checkState(pid, &state); err != nil {
		return nil, err
	}
	if err := checkMachine(pid); err != nil {
		return nil, err
	}
	maps, err := readMaps(pid)
	if err != nil {
		return nil, refusedBySystem(pid, err)
	}
	p := &python{pid: pid, maps: maps}
	if err := p.findFunctions(); err != nil {
		return nil, err
	}
	if isClosed(pid) {
		return nil, p.explain(errClosed)
	}
	if p.official, err = findOfficial(pid, p.runtime); err != nil {
		return nil, p.explain(err)
	}
	return p, nil
}

// prepareStop finds out what is needed to stop the process, beyond examine.
func (p *python) prepareStop() error {
	state, err := readStatus(p.pid)
	for try := 1; err == nil && state.tracer != 0 && try < tries; try++ {
		time.Sleep(tryAgain) // another gpumem traces it for a moment
		state, err = readStatus(p.pid)
	}
	if err != nil {
		return refusedBySystem(p.pid, err)
	}
	if err := checkStop(&state); err != nil {
		return err
	}
	if err := p.findSystemCall(); err != nil {
		return refusedBySystem(p.pid, err)
	}
	return nil
}

// isClosed reports whether its user wants nobody to bring code into an interpreter. The
// two ways to say so are Python 3.14's; the wish counts for all.
func isClosed(pid int) bool {
	for _, entry := range proc.Strings(pid, "environ") {
		if value, ok := strings.CutPrefix(entry, "PYTHON_DISABLE_REMOTE_DEBUG="); ok && value != "" {
			return true
		}
	}
	for _, word := range proc.Strings(pid, "cmdline") {
		switch strings.ReplaceAll(strings.TrimPrefix(word, "-X"), "_", "-") {
		case "disable-remote-debug":
			return true
		}
	}
	return false
}

// status is the fields of /proc/PID/status that matter here.
type status struct {
	state           byte
	tracer, seccomp int
	uid             int
	ignored         uint64 // signals
}

// restingStatus is the status of a process that a tracer such as strace may stop for a
// moment at each system call: "stopped by its tracer" counts only when it lasts.
func restingStatus(pid int) (status, error) {
	const (
		looks = 40
		apart = 5 * time.Millisecond
	)
	s, err := readStatus(pid)
	for n := 0; n < looks && err == nil && s.tracer != 0 && s.state == 't'; n++ {
		time.Sleep(apart)
		s, err = readStatus(pid)
	}
	return s, err
}

func readStatus(pid int) (s status, err error) {
	b, err := proc.Read(pid, "status")
	if err != nil {
		return s, err
	}
	for len(b) > 0 {
		var line []byte
		line, b = procfs.Line(b)
		key, value, _ := bytes.Cut(line, []byte(":"))
		words := strings.Fields(string(value))
		if len(words) == 0 {
			continue
		}
		switch string(key) {
		case "State":
			s.state = words[0][0]
		case "TracerPid":
			s.tracer, _ = strconv.Atoi(words[0])
		case "Seccomp":
			s.seccomp, _ = strconv.Atoi(words[0])
		case "Uid":
			s.uid, _ = strconv.Atoi(words[0])
		case "SigIgn":
			s.ignored, _ = strconv.ParseUint(words[0], 16, 64)
		}
	}
	return s, nil
}

// checkState refuses a process that runs nothing now.
func checkState(pid int, s *status) error {
	switch {
	case s.state == 'Z' || s.state == 'X':
		return &Refusal{Why: "its main thread has ended"}
	case s.tracer != 0 && s.state == 't':
		return &Refusal{Why: nameOf(s.tracer) + " has stopped it",
			Try: "continue it there; a process can have only one tracer at a time"}
	case s.state == 'T' || s.state == 't':
		return &Refusal{Why: "it is stopped by a signal", Try: fmt.Sprintf("continue it: kill -CONT %d", pid)}
	}
	return nil
}

// checkStop refuses a process that cannot be stopped.
func checkStop(s *status) error {
	const strict = 1
	const needed = 1<<(unix.SIGSEGV-1) | 1<<(unix.SIGTRAP-1)
	switch {
	case s.tracer != 0:
		return &Refusal{
			Why: fmt.Sprintf("%s already traces it", nameOf(s.tracer)),
			Try: "a process can have only one tracer at a time: end that one first"}
	case s.seccomp == strict:
		return &Refusal{Why: "seccomp allows it no system call but read, write and exit"}
	case s.ignored&needed != 0:
		return &Refusal{Why: "it ignores the signals by which a debugger stops a program"}
	}
	return nil
}

// nameOf is a process for a sentence.
func nameOf(pid int) string {
	name, err := proc.Read(pid, "comm")
	if err != nil {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("%s (process %d)", strings.TrimSpace(string(name)), pid)
}

// checkMachine refuses programs of another architecture, and other Pythons.
func checkMachine(pid int) error {
	f, err := elf.Open(proc.Path(pid, "exe"))
	if err != nil {
		return refusedBySystem(pid, err)
	}
	defer f.Close()
	ours := elf.EM_X86_64
	if runtime.GOARCH == "arm64" {
		ours = elf.EM_AARCH64
	}
	if f.Machine != ours || f.Class != elf.ELFCLASS64 {
		why := fmt.Sprintf("its program is of another architecture (%v, %v)", f.Machine, f.Class)
		return &Refusal{Why: why, Try: "use a gpumem that was built for it"}
	}
	if exe, err := os.Readlink(proc.Path(pid, "exe")); err == nil && isEmulator(filepath.Base(exe)) {
		return &Refusal{Why: "its program is of another architecture: " + filepath.Base(exe) + " emulates it",
			Try: "start a build of the program that is for this machine"}
	}
	return nil
}

// isEmulator reports whether a program runs one of another architecture in it, as QEMU
// does in containers that were made for another machine. Virtual machines are none.
func isEmulator(name string) bool {
	architecture, ok := strings.CutPrefix(strings.TrimSuffix(name, "-static"), "qemu-")
	switch architecture {
	case "aarch64", "arm", "x86_64", "i386", "ppc64le", "s390x", "riscv64":
		return ok
	}
	return false
}

func readMaps(pid int) ([]procfs.Mapping, error) {
	f, err := os.Open(proc.Path(pid, "maps"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var maps []procfs.Mapping
	for s := procfs.NewScanner(f); s.Scan(); {
		maps = append(maps, *s.Mapping())
	}
	return maps, nil
}

// findFunctions finds the interpreter's functions, in its library or its program.
func (p *python) findFunctions() error {
	exe, _ := os.Readlink(proc.Path(p.pid, "exe"))
	exe = strings.TrimSuffix(exe, " (deleted)")
	files := []string{exe}
	for _, m := range p.maps {
		name := filepath.Base(m.Path)
		if alien.MatchString(name) {
			return &Refusal{Why: "its Python is not CPython",
				Try: "start the program with CPython"}
		}
		if m.Offset == 0 && interpreterFile.MatchString(name) {
			files = append(files, m.Path)
		}
	}
	for _, path := range files {
		found, err := p.look(path, path == exe)
		if found || err != nil {
			return err
		}
	}
	if len(files) > 1 || strings.HasPrefix(filepath.Base(exe), "python") {
		return &Refusal{Why: "its Python does not export the functions that are needed",
			Try: "use a build that was not stripped of its dynamic symbols"}
	}
	return ErrNoPython
}

// The functions of the interpreter, in the order of python's fields; and signs of
// interpreters that are too old: one that 3.8 brought, one that 3.0 took away.
const (
	nameInitialized = "Py_IsInitialized"
	nameAdd         = "Py_AddPendingCall"
	nameRun         = "PyRun_SimpleString"
	nameOf38        = "PyConfig_InitPythonConfig"
	nameOf2         = "PyString_FromString"
)

// look looks for the functions in one file of the process.
func (p *python) look(path string, isProgram bool) (found bool, err error) {
	base, ok := p.base(path)
	if !ok {
		return false, nil
	}
	f, err := p.open(path, isProgram)
	if err != nil {
		return false, refusedBySystem(p.pid, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return false, nil // a static program has none
	}
	at := map[string]uint64{}
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF {
			at[s.Name] = s.Value
		}
	}
	bias := base - lowest(f)
	for name, to := range map[string]*uint64{nameInitialized: &p.isInitialized, nameAdd: &p.addPendingCall,
		nameRun: &p.runString} {
		if at[name] == 0 {
			return false, nil
		}
		*to = bias + at[name]
	}
	if at[nameOf2] != 0 || at[nameOf38] == 0 {
		return false, &Refusal{Why: "its Python is older than 3.8"}
	}
	p.runtime = runtimeAt(f, at, bias)
	return true, nil
}

// base is where the beginning of a file is mapped.
func (p *python) base(path string) (uint64, bool) {
	for _, m := range p.maps {
		if m.Offset == 0 && m.Path == path {
			return m.Start, true
		}
	}
	return 0, false
}

// lowest is the address that a file wants for its beginning.
func lowest(f *elf.File) uint64 {
	for _, s := range f.Progs {
		if s.Type == elf.PT_LOAD && s.Off == 0 {
			return s.Vaddr
		}
	}
	return 0
}

// open opens a file that the process has mapped: as it is mapped, since the file of
// that name may be another by now, or in another mount namespace.
func (p *python) open(path string, isProgram bool) (*elf.File, error) {
	if isProgram {
		return elf.Open(proc.Path(p.pid, "exe"))
	}
	for _, m := range p.maps {
		if m.Offset == 0 && m.Path == path {
			f, err := elf.Open(proc.Path(p.pid, fmt.Sprintf("map_files/%x-%x", m.Start, m.End)))
			if err == nil {
				return f, nil
			}
		}
	}
	return elf.Open(proc.Path(p.pid, "root") + path)
}

// findSystemCall finds an instruction that calls the system: the kernel's own library
// has some, and so has the C library.
func (p *python) findSystemCall() error {
	mem, err := os.Open(proc.Path(p.pid, "mem"))
	if err != nil {
		return err
	}
	defer mem.Close()
	const most = 2 << 20
	for _, wanted := range []string{"[vdso]", "libc.so", "libc-", "ld-", "musl", ""} {
		for _, m := range p.maps {
			if !m.Executable() || !strings.Contains(m.Path, wanted) || m.Path == "[vsyscall]" {
				continue
			}
			code := make([]byte, min(m.End-m.Start, most))
			if _, err := mem.ReadAt(code, int64(m.Start)); err != nil {
				if errors.Is(err, fs.ErrPermission) {
					return err
				}
				continue
			}
			for i := 0; i < len(code); i += instructionStep {
				if isSystemCall(code[i:]) {
					p.syscall = m.Start + uint64(i)
					return nil
				}
			}
		}
	}
	return &Refusal{Why: "it has no instruction that calls the system"}
}

// inside is the file that an address lies in.
func (p *python) inside(address uint64) string {
	for i := range p.maps {
		if p.maps[i].Contains(address) {
			return strings.Trim(filepath.Base(p.maps[i].Path), "[].")
		}
	}
	return ""
}

// explain puts an error on the way in into a refusal.
func (p *python) explain(err error) error {
	switch {
	case errors.Is(err, errEnded):
		return &Refusal{Why: "it has just ended"}
	case errors.Is(err, errStopped):
		return &Refusal{Why: err.Error(), Try: fmt.Sprintf("continue it: kill -CONT %d", p.pid)}
	case errors.Is(err, errClosed):
		return &Refusal{Why: err.Error(),
			Try: "start it without PYTHON_DISABLE_REMOTE_DEBUG and -X disable-remote-debug"}
	case errors.Is(err, errNoStop):
		return &Refusal{Why: "its main thread is inside the kernel and cannot be stopped",
			Try: "attach again when the driver has answered it"}
	case errors.Is(err, errRefused) && errors.Is(err, unix.ENOMEM):
		return &Refusal{Why: "it may have no more memory: it is at its limit of address space",
			Try: "start it with a higher one (ulimit -v)"}
	case errors.Is(err, errRefused):
		return &Refusal{Why: err.Error() + " (a filter of system calls, seccomp, may forbid it)",
			Try: "start the program under gpumem: gpumem run"}
	case errors.Is(err, errFull), errors.Is(err, errEarly), errors.Is(err, errStuck),
		errors.Is(err, errPending):
		return &Refusal{Why: err.Error(), Try: "attach again"}
	}
	return refusedBySystem(p.pid, err)
}

// refusedBySystem says why the system refuses us a process.
func refusedBySystem(pid int, err error) error {
	var already *Refusal
	switch {
	case errors.As(err, &already):
		return already
	case procfs.IsGone(err) || errors.Is(err, unix.ESRCH):
		return &Refusal{Why: "it has just ended"}
	case !errors.Is(err, fs.ErrPermission):
		return &Refusal{Why: err.Error()}
	}
	if s, err := readStatus(pid); err == nil {
		if s.tracer != 0 {
			return checkStop(&s)
		}
		if us := os.Geteuid(); us != 0 && s.uid != us {
			return &Refusal{Why: "it belongs to another user", Try: "run gpumem as root"}
		}
	}
	if r := refusedByYama(yama(), os.Geteuid()); r != nil {
		return r
	}
	if os.Geteuid() == 0 {
		return &Refusal{Why: "the system lets not even root trace it here",
			Try: "in a container, start that with the capability SYS_PTRACE"}
	}
	return &Refusal{Why: "it lets nobody trace it (PR_SET_DUMPABLE is 0, or it has more rights than you)",
		Try: "run gpumem as root"}
}

// refusedByYama says what a value of ptrace_scope forbids a user, nil where nothing.
func refusedByYama(scope, user int) *Refusal {
	switch {
	case scope >= 3:
		return &Refusal{Why: "this system lets nobody trace anything, root included (ptrace_scope is 3)",
			Try: "it stays so until the system is started with another kernel.yama.ptrace_scope"}
	case scope == 2 && user != 0:
		return &Refusal{Why: "this system lets nobody but root trace a process (ptrace_scope is 2)",
			Try: "run gpumem as root"}
	case scope == 1 && user != 0:
		return &Refusal{Why: "the system lets nobody trace what is not a child of theirs (ptrace_scope is 1)",
			Try: "run gpumem as root, or write 0 to /proc/sys/kernel/yama/ptrace_scope"}
	}
	return nil
}

// yama is the value of ptrace_scope, 0 where there is none.
func yama() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

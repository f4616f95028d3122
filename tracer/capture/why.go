package capture

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Why says in one sentence why nothing was captured of a process, or nothing
// when something was. exe is the program's file, or its name in PATH; when
// empty it is taken from the process, if that still runs.
func (r *Reader) Why(pid int, exe string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.procs[pid]; p != nil {
		return p.outcome().text()
	}
	if o, ended := r.idle[pid]; ended {
		return o.text()
	}
	return whyNot(pid, exe)
}

// outcome is how the capture of a process went, as far as is known.
type outcome uint8

const (
	outcomeCaptured outcome = iota
	outcomeCounted          // no slots
	outcomeProbed           // no call since the attach
	outcomePast             // a library calls it past us
	outcomePassedBy         // the driver was there
	outcomeUnused           // the same, where nothing passes by
	outcomeNoDriver
)

func (p *process) outcome() outcome {
	driver := p.driver || p.flags()&flagDriver != 0
	switch {
	case p.ledger.started:
		return outcomeCaptured
	case p.flags()&flagCounts != 0:
		return outcomeCounted
	case p.partial:
		return outcomeProbed
	case p.flags()&flagPassed != 0:
		return outcomePast
	case driver && p.flags()&flagAudit == 0:
		return outcomePassedBy
	case driver:
		return outcomeUnused
	}
	return outcomeNoDriver
}

func (o outcome) text() string {
	return [...]string{
		outcomeCaptured: "",
		outcomeCounted:  "driver calls were only counted: the capture directory was full or out of reach",
		outcomeProbed:   "the process made no recorded driver call since the attach",
		outcomePast: "a library that was opened with RTLD_DEEPBIND calls the driver past the interposer: " +
			"try --inject=audit",
		outcomePassedBy: "the CUDA driver was loaded, but the program allocated nothing or its calls pass " +
			"by the interposer: try --inject=audit",
		outcomeUnused:   "the CUDA driver was loaded, but the program allocated nothing with it",
		outcomeNoDriver: "not a CUDA program: the process never loaded the CUDA driver (libcuda.so.1)",
	}[o]
}

// Past are the processes in which a library that was opened with RTLD_DEEPBIND calls the
// driver past the interposer, in order. What it asked for is not recorded.
func (r *Reader) Past() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	var pids []int
	for pid, p := range r.procs {
		if p.flags()&flagPassed != 0 {
			pids = append(pids, pid)
		}
	}
	for pid, o := range r.idle {
		if o == outcomePast {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// whyNot explains a process that has no ring.
func whyNot(pid int, exe string) string {
	if exe == "" {
		exe, _ = os.Readlink(proc.Path(pid, "exe"))
	}
	if reason := Obstacle(exe); reason != "" {
		return reason
	}
	if env, err := proc.Read(pid, "environ"); err == nil && len(env) > 0 {
		if !bytes.Contains(env, []byte(EnvDir+"=")) {
			return "the program was started with an environment of its own, without the interposer " +
				"(LD_PRELOAD was dropped on the way)"
		}
	}
	return "the interposer was not loaded or could not record: LD_PRELOAD was dropped on the way, the " +
		"capture directory could not be reached, or a limit (ulimit -f) left it no room"
}

// Obstacle says in one sentence why the interposer cannot get into a program,
// or nothing when no reason is known. exe is a file, or a name in PATH; for a
// script it is the interpreter that counts.
func Obstacle(exe string) string { return obstacle(exe, 0) }

func obstacle(exe string, depth int) string {
	if exe == "" || depth > 4 {
		return ""
	}
	path, err := exec.LookPath(exe)
	if err != nil {
		return ""
	}
	name := filepath.Base(path)
	if raised(path) {
		return name +
			" is setuid, setgid or has file capabilities: the loader ignores LD_PRELOAD for it; use " +
			"--inject=ebpf"
	}
	if next := interpreter(path); next != "" {
		return obstacle(next, depth+1)
	}
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 || f.Machine != machine {
		return fmt.Sprintf("%s is built for another processor (%v, %v)", name, f.Machine, f.Class)
	}
	loader := ""
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP && p.Filesz < 4096 {
			b := make([]byte, p.Filesz)
			p.ReadAt(b, 0) // what cannot be read is no known loader
			loader = string(bytes.TrimRight(b, "\x00"))
		}
	}
	switch {
	case loader == "":
		return name + " is statically linked: there is no loader to put the interposer in; use --inject=ebpf"
	case strings.Contains(filepath.Base(loader), "musl"):
		return name + " uses the musl loader, for which there is no CUDA driver"
	}
	return ""
}

// interpreter is the program that runs a script, empty when it is no script.
// "env NAME" is NAME.
func interpreter(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	rest, ok := strings.CutPrefix(string(line), "#!")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		return ""
	}
	if filepath.Base(fields[0]) == "env" {
		for _, arg := range fields[1:] {
			if !strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") {
				return arg
			}
		}
	}
	return fields[0]
}

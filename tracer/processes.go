package tracer

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// maxIntroduced bounds the processes that are introduced by an event.
	maxIntroduced = 10_000
	// maxProcessName bounds a name, in bytes.
	maxProcessName = 80
)

// introduction is what is known of a process beside its memory.
type introduction struct {
	name string
	rank int // -1 is unknown
}

var unknownProcess = introduction{rank: -1}

// introduce notes what a process is called and which rank it has, and writes
// that down once there are several of them. What is empty or nil changes
// nothing. The lock is held.
func (r *recording) introduce(f *followed, name string, rank *int) {
	now := f.is
	if name = secret.Text(name); name != "" {
		now.name = strings.ToValidUTF8(name[:min(len(name), maxProcessName)], "")
	}
	if rank != nil {
		now.rank = *rank
	}
	if now != f.is {
		f.is, f.introduced = now, false
	}
	if r.multi && !r.toldAll {
		r.tellProcesses()
		return
	}
	r.tellProcess(f)
}

// introduceByAgent takes a hello's word, or, where it has none, what is seen from
// outside by now: before, the process may have been a mere fork. The lock is
// held.
func (l listener) introduceByAgent(f *followed, h *agent.Hello) {
	r := l.r
	name, rank := seenFromOutside(f.pid, r.out.MaskCommand)
	if f.named {
		name = ""
	}
	f.named = f.named || h.Name != ""
	r.introduce(f, cmp.Or(h.Name, name), cmp.Or(h.Rank, rank))
}

const (
	// looksWhileYoung is how many scans look again at a process: it may have been a
	// mere fork when it was found, on its way to another program.
	looksWhileYoung = 10
	// looksLater is at each how many scans a process is looked at after that: shell
	// scripts end in an exec.
	looksLater = 50
)

// introduceAgain takes what the system tells of a process by now, unless its agent
// has named it. The lock is held.
func (r *recording) introduceAgain(f *followed) {
	f.looks++
	if f.named || f.looks > looksWhileYoung && f.looks%looksLater != 0 {
		return
	}
	name, rank := seenFromOutside(f.pid, r.out.MaskCommand)
	r.introduce(f, name, rank)
}

// tellProcesses writes the introductions that were held back as long as there was one
// process only. The lock is held.
func (r *recording) tellProcesses() {
	for _, pid := range r.pidsLocked() {
		r.tellProcess(r.procs[pid])
	}
	r.toldAll = true
}

// tellProcess writes the introduction of a process unless it is written: not as long as
// there is one process only and nothing numbers it. The lock is held.
func (r *recording) tellProcess(f *followed) {
	if f.introduced || r.introduced >= maxIntroduced || f.is == unknownProcess || !r.multi && f.is.rank < 0 {
		return
	}
	f.introduced = true
	r.introduced++
	e := record.Event{TMs: r.millis(r.clock.Now()), PID: f.pid, Kind: record.KindProcess, Name: f.is.name}
	if f.is.rank >= 0 {
		e.Rank = &f.is.rank
	}
	r.eventLocked(e)
}

// RankOf is the rank of a process by its environment at the start, as torchrun, MPI and
// Slurm set it; nil where it has none or may not be read.
func RankOf(pid int) *int {
	_, rank := seenFromOutside(pid, func(args []string) []string { return args })
	return rank
}

// seenFromOutside is what the system tells of a process: its command line, the
// program without its folder and without secrets, and its rank by its environment
// at the start.
func seenFromOutside(pid int, mask func([]string) []string) (name string, rank *int) {
	if args := commandLine(pid); len(args) > 0 {
		args = slices.Clone(mask(args)) // before it is cut: half a name does not say what its value is
		args[0] = filepath.Base(args[0])
		name = strings.Join(args, " ")
	}
	environ := map[string]string{}
	for _, entry := range environment(pid) {
		key, value, _ := strings.Cut(entry, "=")
		environ[key] = value
	}
	return name, agent.Rank(func(key string) string { return environ[key] })
}

package injection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/internal/leftover"
	"github.com/gpumem/gpumem/probe/procfs"
	"github.com/gpumem/gpumem/tracer/agent/python"
	"github.com/gpumem/gpumem/tracer/record"
)

// EnvBinary names the gpumem that the Python package calls.
const EnvBinary = "GPUMEM_BINARY"

// pythonLook is how often the program is looked at: a shell or a launcher may
// become Python.
const pythonLook = time.Second

// pythonName matches the interpreter's file.
var pythonName = regexp.MustCompile(`^(python|pypy)[0-9.]*t?$`)

// pythonFolder is how the folders of InstallPython begin that go with their run.
const pythonFolder = "gpumem-agent-"

// InstallPython puts the Python agent where all runs share it, else into a folder
// of its own, which remove takes away again. Folders of killed runs are removed.
func InstallPython() (where string, vars map[string]string, remove func() error, err error) {
	// What cannot be swept now may be later; it is in nobody's way.
	_, _ = leftover.Sweep(filepath.Join(os.TempDir(), pythonFolder+"*"))
	if where, vars, err = python.Share(); err == nil {
		return where, vars, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", pythonFolder)
	if err != nil {
		return "", nil, nil, fmt.Errorf("no folder for the Python agent: %w", err)
	}
	// Where there are no locks the folder serves as well, and is never swept.
	lock, _ := leftover.Claim(dir)
	remove = func() error { return errors.Join(os.RemoveAll(dir), lock.Release()) }
	where = filepath.Join(dir, "python")
	if vars, err = python.Install(where); err != nil {
		return "", nil, nil, errors.Join(err, remove())
	}
	return where, vars, remove, nil
}

// watchPython notes what the program runs as long as it does, and checks at its
// end that nobody changed the agent.
func (in *Injection) watchPython(ctx context.Context, pid int, emit func(record.Event)) {
	ticker := time.NewTicker(pythonLook)
	defer ticker.Stop()
	for over := false; !over; {
		in.note(pid)
		select {
		case <-ctx.Done():
			over = true
		case <-ticker.C:
		}
	}
	if err := python.Verify(in.python); errors.Is(err, python.ErrChanged) {
		emit(record.Event{PID: pid, Kind: record.KindWarning,
			Text: fmt.Sprintf("what the Python agent told is not to be trusted: %v", err)})
	}
}

// note keeps the interpreter's command line, as long as the process has one.
func (in *Injection) note(pid int) {
	const proc procfs.Dir = ""
	exe, err := os.Readlink(proc.Path(pid, "exe"))
	if err != nil {
		return
	}
	text, err := proc.Read(pid, "cmdline")
	if err != nil || len(text) == 0 {
		return
	}
	runs := ""
	if pythonName.MatchString(naming.Base(exe)) {
		runs = strings.TrimSuffix(string(text), "\x00")
	}
	in.runs.Store(&runs)
}

// unheard says why nothing was heard of a Python program's agent; empty for a
// program that is none.
func (in *Injection) unheard() string {
	runs := in.runs.Load()
	if runs == nil || *runs == "" {
		return ""
	}
	why := "it may be older than 3.8, or not get its environment"
	for _, word := range strings.Split(*runs, "\x00")[1:] {
		if !strings.HasPrefix(word, "-") || word == "-c" || word == "-m" {
			break
		}
		if !strings.HasPrefix(word, "--") && strings.ContainsAny(word, "IES") {
			why = word + " keeps it from its environment"
			break
		}
	}
	return "the Python agent did not start, so live bytes, steps and holders are unknown: the interpreter " +
		"ran without it (" + why + ")"
}

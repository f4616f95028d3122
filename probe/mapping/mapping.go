package mapping

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
)

// Options of a question. The zero value reads the running system within
// DefaultBudget.
type Options struct {
	Root   string        // of the file system that holds proc; "" is "/"
	Budget time.Duration // 0 means DefaultBudget; a deadline of the context holds as well
}

// DefaultBudget is long enough for some GiB of 4 KiB pages.
const DefaultBudget = 250 * time.Millisecond

const (
	// pageCost is what the kernel takes to look at one resident page, the
	// greater of two measurements (8 GiB of 4 KiB pages in 89 ms).
	pageCost = 45 * time.Nanosecond
	// maxGroups bounds the groups of a process that maps ever new names; what
	// comes after is gathered in one group of each kind.
	maxGroups = 4096
	overflow  = "(more)"
)

// ErrUnsupported is the answer of systems without Linux's proc. It also
// matches the standard library's errors.ErrUnsupported.
var ErrUnsupported = fmt.Errorf("mapping: %w", errors.ErrUnsupported)

// Usage is memory in bytes, as the kernel's files print it.
type Usage = procfs.Usage

// Unknown is the value of a figure that the kernel did not print.
const Unknown = procfs.Unknown

// Group is the mappings of one kind and name together.
type Group struct {
	Kind     Kind
	Name     string // library, device, file; empty where there is none
	Path     string // of the first of them, empty for memory without a file
	Mappings int
	Usage    Usage
}

// Report is what a process's memory is made of.
type Report struct {
	PID      int
	Groups   []Group // by resident bytes, greatest first; empty in a rollup
	Total    Usage
	Mappings int // 0 in a rollup: the kernel does not count them
	// Partial is true when the budget ran out: the figures are a lower bound,
	// over the mappings at lower addresses. Reason says so in a sentence.
	Partial bool
	Reason  string
	Elapsed time.Duration
	Bad     int // lines not understood
}

// ByKind sums the groups up by kind. Kinds that do not occur are absent.
func (r *Report) ByKind() map[Kind]Usage {
	out := make(map[Kind]Usage)
	for i := range r.Groups {
		u, ok := out[r.Groups[i].Kind]
		if !ok {
			u = procfs.UnknownUsage()
		}
		u.Add(&r.Groups[i].Usage)
		out[r.Groups[i].Kind] = u
	}
	return out
}

// Rollup returns the sums over all mappings, from the kernel's own sum where
// that is likely to stay within the budget. Otherwise, and on kernels before
// 4.14, it adds the mappings up until the budget runs out. Errors match
// fs.ErrNotExist (no such process, or it has no memory) or fs.ErrPermission.
func Rollup(ctx context.Context, pid int, o Options) (Report, error) {
	q, cancel, err := ask(ctx, pid, o)
	if err != nil {
		return Report{}, err
	}
	defer cancel()
	if q.estimate() <= q.remaining() {
		r, err := q.rollup()
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
	}
	return q.attribute(false)
}

// Attribute returns the process's memory by kind and name. Errors are as with
// Rollup; running out of budget is not an error.
func Attribute(ctx context.Context, pid int, o Options) (Report, error) {
	q, cancel, err := ask(ctx, pid, o)
	if err != nil {
		return Report{}, err
	}
	defer cancel()
	return q.attribute(true)
}

// question is one call under way.
type question struct {
	ctx    context.Context
	pid    int
	dir    string
	start  time.Time
	budget time.Duration
}

func ask(ctx context.Context, pid int, o Options) (*question, context.CancelFunc, error) {
	if o.Root == "" {
		if runtime.GOOS != "linux" {
			return nil, nil, fmt.Errorf("%w on %s: it reads Linux's proc", ErrUnsupported, runtime.GOOS)
		}
		o.Root = "/"
	}
	if o.Budget <= 0 {
		o.Budget = DefaultBudget
	}
	ctx, cancel := context.WithTimeout(ctx, o.Budget)
	return &question{ctx, pid, filepath.Join(o.Root, "proc", strconv.Itoa(pid)), time.Now(),
		o.Budget}, cancel, nil
}

// estimate is how long the kernel may take for its own sum, 0 when unknown.
func (q *question) estimate() time.Duration {
	b, err := os.ReadFile(filepath.Join(q.dir, "statm"))
	if err != nil {
		return 0
	}
	s, ok := procfs.ParseStatm(b)
	if !ok {
		return 0
	}
	return time.Duration(s.Resident) * pageCost
}

func (q *question) remaining() time.Duration {
	deadline, ok := q.ctx.Deadline()
	if !ok {
		return q.budget
	}
	return time.Until(deadline)
}

// rollup reads the kernel's own sum.
func (q *question) rollup() (Report, error) {
	f, err := q.open("smaps_rollup")
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	s := procfs.NewScanner(f)
	if !s.Scan() {
		return Report{}, q.explain("smaps_rollup", cmp.Or(s.Err(), error(fs.ErrNotExist)))
	}
	return Report{PID: q.pid, Total: *s.Usage(), Elapsed: time.Since(q.start), Bad: s.Bad()},
		q.explain("smaps_rollup", s.Err())
}

// attribute adds the mappings up, into groups where asked.
func (q *question) attribute(groups bool) (Report, error) {
	f, err := q.open("smaps")
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	exe, _ := os.Readlink(filepath.Join(q.dir, "exe")) // absent for kernel threads
	t := tally{exe: strings.TrimSuffix(exe, " (deleted)"), index: make(map[groupKey]int),
		report: Report{PID: q.pid, Total: procfs.UnknownUsage()}}
	r := &budgeted{ctx: q.ctx, r: f}
	s := procfs.NewScanner(r)
	for s.Scan() {
		t.add(s, groups)
	}
	t.report.Bad = s.Bad()
	t.report.Elapsed = time.Since(q.start)
	if r.out {
		t.report.Partial = true
		t.report.Reason = fmt.Sprintf("stopped after %d mappings and %v: the time budget ran out",
			t.report.Mappings, t.report.Elapsed.Round(time.Millisecond))
	}
	slices.SortStableFunc(t.report.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Usage.RSS, a.Usage.RSS), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Name, b.Name))
	})
	return t.report, q.explain("smaps", s.Err())
}

func (q *question) open(name string) (*os.File, error) {
	f, err := os.Open(filepath.Join(q.dir, name))
	return f, q.explain(name, err)
}

// explain wraps an error with what to do about it; nil stays nil.
func (q *question) explain(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("read %s of process %d: %w; try: run as its owner, or with CAP_SYS_PTRACE",
			name, q.pid, err)
	case procfs.IsGone(err):
		return fmt.Errorf("read %s of process %d: %w", name, q.pid, fs.ErrNotExist)
	}
	return fmt.Errorf("read %s of process %d: %w", name, q.pid, err)
}

// budgeted ends a reader when its context does.
type budgeted struct {
	ctx context.Context
	r   io.Reader
	out bool // the budget ran out
}

// Read returns one answer of the kernel, which holds a few mappings.
func (b *budgeted) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		b.out = true
		return 0, io.EOF
	}
	return b.r.Read(p)
}

// tally gathers groups.
type tally struct {
	exe    string
	index  map[groupKey]int
	report Report
}

type groupKey struct {
	kind Kind
	name string
}

func (t *tally) add(s *procfs.Scanner, groups bool) {
	t.report.Mappings++
	t.report.Total.Add(s.Usage())
	if !groups {
		return
	}
	m := s.Mapping()
	kind, name := Classify(m.Path, t.exe)
	key := groupKey{kind, name}
	i, ok := t.index[key]
	if !ok && len(t.report.Groups) >= maxGroups {
		key.name = overflow
		i, ok = t.index[key]
	}
	if !ok {
		i = len(t.report.Groups)
		t.index[key] = i
		g := Group{Kind: kind, Name: key.name, Usage: procfs.UnknownUsage()}
		if key.name == name && !strings.HasPrefix(m.Path, "[") {
			g.Path = m.Path
		}
		t.report.Groups = append(t.report.Groups, g)
	}
	t.report.Groups[i].Mappings++
	t.report.Groups[i].Usage.Add(s.Usage())
}

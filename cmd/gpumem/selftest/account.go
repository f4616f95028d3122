package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/device"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/firsttouch"
	"github.com/gpumem/gpumem/probe/scan"
)

// account is one place where a subject's memory must show.
type account struct {
	name string
	read func() int64 // Unknown when it is not told
	// told says what an unknown reading means here.
	told string

	before, held, after int64
}

// checkDevice checks one device by a process of its own.
func (t *tester) checkDevice(ctx context.Context, name string) {
	r := t.report
	s, err := startSubject(ctx, t.self, name, t.size)
	if err == nil && s.hello.Error == "" {
		defer s.Close()
		r.group(fmt.Sprintf("%s: %s", name, s.hello.Name))
		r.add(Check{Check: "starts", Result: OK, Text: "driver " + s.hello.Driver})
		t.checkAccounts(ctx, name, s)
		if s.hello.Driver == device.Apple {
			t.checkTools(ctx, name)
		}
		return
	}
	r.group(name)
	c := Check{Check: "opens", Result: Wrong}
	switch {
	case err != nil:
		c.Text = err.Error()
	default:
		defer s.Close()
		c.Text = s.hello.Error
		if source := t.seen(ctx, name); !s.hello.Absent || source != "" {
			if source != "" {
				c.Text += " (but " + source + " lists a device)"
			}
		} else {
			c.Result = Absent
		}
	}
	r.add(c)
}

// checkAccounts lets a subject hold memory and drop it, and looks into every
// account before, meanwhile and after.
func (t *tester) checkAccounts(ctx context.Context, name string, s *subject) {
	pid := s.cmd.Process.Pid
	ps, err := probe.Open(pid)
	t.report.outcome("memory of the process can be read", err, fmt.Sprintf("PID %d", pid))
	if err == nil {
		defer ps.Close()
	}
	counter := probe.Unknown
	note := func(a answer) {
		if a.Allocated != nil {
			counter = *a.Allocated
		}
	}
	note(s.hello)
	accounts, end := t.accounts(ctx, name, s, ps, &counter)
	defer end()
	t.checkListed(pid)
	for _, a := range accounts {
		a.before = a.read()
	}
	a, err := t.hold(s)
	if err != nil {
		return
	}
	note(a)
	settle(ctx, accounts, func(a *account) bool { a.held = a.read(); return near(a.held-a.before, t.size) })
	t.compareTools(ctx, name, pid, ps, accounts)
	if a, err = s.do(dropWord); err != nil {
		t.report.outcome("gives it up", err, "")
		return
	}
	note(a)
	settle(ctx, accounts,
		func(a *account) bool { a.after = a.read(); return a.after-a.before <= tolerance(t.size) })
	for _, a := range accounts {
		t.judge(a)
	}
}

// hold lets the subject hold memory, while its first touches are watched.
func (t *tester) hold(s *subject) (answer, error) {
	touches := func() {}
	what := "allocates " + plain.Size(t.size)
	if s.hello.Driver == device.Host {
		touches = t.watchTouches(s.cmd.Process.Pid) // others get their memory from a driver
	} else {
		what += " and runs a kernel"
	}
	a, err := s.do(holdWord)
	t.report.outcome(what, err, "")
	touches()
	return a, err
}

// accounts are those in which memory on that device must show.
func (t *tester) accounts(ctx context.Context, name string, s *subject, ps *probe.Process,
	counter *int64) (list []*account, end func()) {
	end = func() {}
	if s.hello.Allocated != nil {
		list = append(list, &account{name: "the driver's counter", read: func() int64 { return *counter }})
	}
	if ps != nil && (s.hello.Unified || s.hello.Driver == device.Host) {
		a := &account{name: "footprint", read: func() int64 {
			return footprintOf(ps)
		}, told: "neither footprint nor resident size"}
		if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
			a.name = "resident size"
		}
		list = append(list, a)
	}
	reader, device := t.reader(ctx, name)
	if reader == nil {
		return list, end
	}
	pid := s.cmd.Process.Pid
	read := func() int64 { return chargedTo(reader, pid, device) }
	list = append(list, &account{name: "GPU bytes of the process", read: read,
		told: "not told of this process"})
	return list, reader.Close
}

// footprintOf is a process's footprint, else its resident size.
func footprintOf(ps *probe.Process) int64 {
	var m probe.Memory
	if err := ps.ReadSplit(&m); err != nil {
		return probe.Unknown
	}
	if m.Footprint != probe.Unknown {
		return m.Footprint
	}
	return m.RSS
}

// reader tells the GPU bytes on a device of that name, which has the number
// returned; nil where none tells of it.
func (t *tester) reader(ctx context.Context, name string) (probe.Reader, int) {
	index, isCUDA := device.CUDAIndex(name)
	if t.sources == nil || !isCUDA && name != device.Apple {
		return nil, 0
	}
	for _, d := range t.sources.Devices(ctx) {
		if isCUDA && d.Source == scan.NVML {
			if index == 0 {
				return t.sources.Reader(), d.Index
			}
			index--
		}
		if !isCUDA && d.Source == scan.Apple {
			return t.sources.Reader(), d.Index
		}
	}
	return nil, 0
}

// chargedTo is what a device is said to hold for a process; a process that it
// holds nothing for yet has 0.
func chargedTo(reader probe.Reader, pid, device int) int64 {
	charges, err := reader.Read([]int{pid}, nil)
	if err != nil {
		return probe.Unknown
	}
	for _, c := range charges {
		if c.Device == device {
			return c.Bytes()
		}
	}
	return 0
}

// checkListed looks for the subject where people would.
func (t *tester) checkListed(pid int) {
	tree := probe.NewTree(os.Getpid())
	pids, err := tree.Scan()
	if err == nil && !slices.Contains(pids, pid) {
		err = fmt.Errorf("PID %d is not among our descendants %v", pid, pids)
	}
	t.report.outcome("the tree of processes has it", err, "")
	p, err := scan.One("", pid)
	if err == nil && p.Parent != os.Getpid() {
		err = fmt.Errorf("PID %d has the parent %d instead of us", pid, p.Parent)
	}
	var tools []string
	for _, tool := range p.Tooling {
		tools = append(tools, tool.String())
	}
	t.report.outcome("the scan has it", err, strings.Join(tools, "; "))
}

// watchTouches records whose code first touches memory. The result ends the
// recording and reports it.
func (t *tester) watchTouches(pid int) (end func()) {
	const check = "first touches of its pages"
	recorder, err := firsttouch.Start(pid, firsttouch.Options{})
	if err != nil {
		c := Check{Check: check, Result: Wrong, Text: err.Error()}
		switch {
		case errors.Is(err, firsttouch.ErrUnsupported):
			c.Result = Absent
		case errors.Is(err, os.ErrPermission):
			c.Result = Unknown
		}
		return func() { t.report.add(c) }
	}
	return func() {
		r := recorder.Stop()
		if r.Faults == 0 {
			err = errors.New("the process touched new memory and no fault was counted")
		}
		t.report.outcome(check, err, units.Counted(int(r.Faults), "fault", "faults"))
	}
}

// tolerance is how far an account may be from what was held: pages of the
// program's own, of its collector and of drivers come and go beside it.
func tolerance(size int64) int64 { return max(6<<20, size/10) }

func near(got, want int64) bool {
	return got >= want-tolerance(want) && got <= want+tolerance(want)
}

// settle reads the accounts until all are as they should be, but no longer than
// settleLimit; the last reading stays.
func settle(ctx context.Context, accounts []*account, good func(*account) bool) {
	for end := time.Now().Add(settleLimit); ; {
		all := true
		for _, a := range accounts {
			all = good(a) && all
		}
		if all || time.Now().After(end) || ctx.Err() != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// judge says whether an account saw the memory come and go.
func (t *tester) judge(a *account) {
	if a.before == probe.Unknown || a.held == probe.Unknown || a.after == probe.Unknown {
		t.report.add(Check{Check: a.name, Result: Unknown, Text: a.told})
		return
	}
	size := t.size
	grown, left := a.held-a.before, a.after-a.before
	result := func(good bool) Result {
		if good {
			return OK
		}
		return Wrong
	}
	t.report.add(Check{Check: a.name + " grows", Result: result(near(grown, size)), Expected: &size,
		Found: &grown})
	t.report.add(Check{Check: a.name + " falls again", Result: result(left <= tolerance(size)), Found: &left,
		Text: "left"})
}

// checkTools runs the driver once more under the system's own checkers: objects
// without a pool and wrong calls.
func (t *tester) checkTools(ctx context.Context, name string) {
	s, err := startSubject(ctx, t.self, name, t.size, "OBJC_DEBUG_MISSING_POOLS=YES", "MTL_DEBUG_LAYER=1")
	if err == nil {
		_, err = s.do(holdWord)
		if err == nil {
			_, err = s.do(dropWord)
		}
		s.Close()
	}
	t.report.outcome("survives Metal's debug layer", err, "MTL_DEBUG_LAYER=1")
	if err != nil {
		return
	}
	if n := strings.Count(s.stderr.String(), "MISSING POOLS"); n > 0 {
		err = fmt.Errorf("%d objects without an autorelease pool; the last: %s", n, s.stderr.last())
	}
	t.report.outcome("no object without an autorelease pool", err, "OBJC_DEBUG_MISSING_POOLS=YES")
}

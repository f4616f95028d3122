package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/pool"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/workloads/console"
	"github.com/gpumem/gpumem/workloads/tensor"
)

// program is a running workload: its device, tensors, agent and console.
type program struct {
	Env
	workload *Workload
	device   metal.Device // nil on the host
	rt       *tensor.Runtime
	client   *agent.Client
	printer  *console.Printer
	rng      *rand.Rand
	baseline int64 // bytes allocated on the device at the start
	step     atomic.Int64
	hazards  atomic.Int64
	fresh    atomic.Bool // the last request of the pool was served by a new buffer
	stated   bool        // the pool's statistics were printed
	spoiled  int         // batches that failed by the planted early return
	ranked   statements  // what each traced statement added
	made     composer
}

// newProgram opens the device and joins the tracer.
func newProgram(w *Workload, e Env) (*program, error) {
	p := &program{Env: e, workload: w, rng: rand.New(rand.NewPCG(uint64(e.Seed), 0x6770756d656d))}
	p.made.p = p
	p.printer = console.New(console.ModesFrom(e.LookupEnv), e.Stdout, e.Stderr)
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	if p.rt, err = tensor.New(o); err != nil {
		return nil, errors.Join(err, p.closeDevice())
	}
	if err := p.join(); err != nil {
		fmt.Fprintf(e.Stderr, "%s: runs untraced: %v\n", w.Name, err)
	}
	p.baseline = p.allocated()
	p.printer.CheckBefore(p.baseline)
	return p, nil
}

// options opens the device and says how the runtime uses it.
func (p *program) options() (tensor.Options, error) {
	if p.Open == nil {
		o := tensor.Options{}
		if p.printer.Modes().MemLog {
			o.Watcher = newWatcher(p)
		}
		return o, nil
	}
	policy, err := pool.PolicyByName(p.policyName())
	if err != nil {
		return tensor.Options{}, err
	}
	if n := p.number("pool-cap"); n >= 0 {
		policy = policy.WithCap(n)
	}
	if n := p.number("param-cap"); n >= 0 {
		policy.MaxParams = n
	}
	limit, err := p.tuned(&policy)
	if err != nil {
		return tensor.Options{}, err
	}
	if policy.Name == "candle" && limit == 0 {
		limit = p.encodersPerBuffer()
	}
	limit = cmp.Or(p.number("commands"), limit)
	o := tensor.Options{Policy: policy, BatchLimit: limit, NoAutorelease: p.Fault == "no-autorelease-pool",
		Refused: p.made.refused}
	d := p.workload.device
	d.NoAutorelease = o.NoAutorelease
	if err := plant(p.Fault, &o, &d); err != nil {
		return o, err
	}
	// Watching costs time, so only what will print something is watched.
	modes := p.printer.Modes()
	if modes.MemLog {
		o.Watcher = newWatcher(p)
	}
	if modes.MemLog || modes.DebugMemory || modes.BufferDebug || o.Policy.EarlyReturn {
		o.Observer = observer{p}
	}
	if p.device, err = p.Open(d); err != nil {
		return o, fmt.Errorf("open device: %w", err)
	}
	o.Device = p.device
	return o, nil
}

// plant sets what a fault changes in the pool and in the device.
func plant(fault string, o *tensor.Options, d *DeviceFaults) (err error) {
	switch fault {
	case "fresh-params":
		o.Faults = append(o.Faults, pool.FreshParams)
	case "no-flush":
		d.SlowDevice = true
		// Nothing bounds the backlog but the queue, which then is no bound.
		o.Faults = append(o.Faults, pool.NoFlush)
		o.QueueLength = 1 << 20
	case "early-return":
		if o.Policy, err = pool.PolicyByName("neatml-early"); err != nil {
			return err
		}
	case "exact-sizes":
		o.Policy.Class, o.Policy.TrimAfter = pool.ClassExact, 0
	case "driver-keeps":
		d.Leaks.CommandBufferBytes = 128 << 10
	case "residency-set":
		d.Leaks.Resident = cacheBytes
	case "tiny-buffers":
		d.MaxBuffers = tinyLimit
	}
	return nil
}

// policyName is the policy that was asked for, and none where the TL language's
// switch turns the pool off.
func (p *program) policyName() string {
	if p.LookupEnv != nil {
		if v, _ := p.LookupEnv("TL_METAL_POOL"); v == "0" {
			return "none"
		}
	}
	return cmp.Or(p.Policy, "default")
}

// candleFlush is how many encoders candle puts into a command buffer.
const candleFlush = 50

// encodersPerBuffer is candleFlush, or what candle's own variable says; as there,
// what is no number above 0 counts for nothing.
func (p *program) encodersPerBuffer() int {
	if p.LookupEnv != nil {
		v, _ := p.LookupEnv("CANDLE_METAL_COMPUTE_PER_BUFFER")
		if n, err := strconv.Atoi(v); err == nil && n > 0 {
			return n
		}
	}
	return candleFlush
}

// tuned applies what TensorLogic reads of its environment: TL_BUFFER_MAX_MB, the
// idle MiB that a pool may keep, and TL_COMPUTE_PER_BUFFER, the commands before a
// flush, which it returns; 0 is the batch's own limit. What is no number is an
// error: upstream ignores it.
func (p *program) tuned(policy *pool.Policy) (limit int, err error) {
	const name, idle = "TL_COMPUTE_PER_BUFFER", "TL_BUFFER_MAX_MB"
	if mib, set, err := p.counted(idle); err != nil {
		return 0, err
	} else if set {
		policy.MaxIdleBytes = uint64(mib) << 20
	}
	limit, _, err = p.counted(name)
	return limit, err
}

// counted is a variable that holds a number from 1 on.
func (p *program) counted(name string) (n int, set bool, err error) {
	if p.LookupEnv == nil {
		return 0, false, nil
	}
	text, set := p.LookupEnv(name)
	if !set {
		return 0, false, nil
	}
	if n, err = strconv.Atoi(text); err != nil || n < 1 || n > 1<<30 {
		return 0, false, fmt.Errorf("%s=%s: must be a whole number from 1 on", name, text)
	}
	return n, true, nil
}

// join connects to the tracer, if there is one.
func (p *program) join() error {
	h := agent.Hello{Device: "host", Driver: "none"}
	unified := true
	h.UnifiedMemory = &unified
	if p.device != nil {
		info := p.device.Info()
		unified = info.Unified
		h.Device, h.Driver, h.CapacityBytes = info.Name, info.Driver, int64(info.RecommendedWorkingSet)
	}
	var err error
	if p.client, err = agent.Connect(h, p.sample); err != nil {
		return err
	}
	p.handle()
	p.client.Phase(record.PhaseBaseline)
	return nil
}

// allocated is what the device has allocated for the program.
func (p *program) allocated() int64 {
	if p.device == nil {
		return 0
	}
	return p.device.Usage().AllocatedBytes
}

// sample fills the columns that only the program knows. Memory that a command
// in flight still uses is live: nobody can have it back yet.
func (p *program) sample(cells []record.Cell) []record.Cell {
	add := func(column string, v int64) { cells = append(cells, record.Cell{Column: column, Value: v}) }
	s := p.rt.Stats()
	add(record.ColScopeDepth, s.ScopeDepth)
	add(record.ColShapes, s.Shapes)
	add(record.ColLive, s.LiveBytes)
	add(record.ColLiveCount, s.LiveCount)
	add(record.ColRefs, s.Refs)
	add(record.ColCommands, s.Commands)
	add(record.ColAllocs, s.Allocs)
	add(record.ColFrees, s.Frees)
	if p.device == nil {
		return cells
	}
	u := p.device.Usage()
	add(record.ColGPU, u.AllocatedBytes)
	add(record.ColInFlight, u.InFlight)
	add(record.ColCommandBuffersOpen, u.CommandBuffers)
	add(record.ColBuffersLimit, int64(p.device.Info().MaxBuffers))
	add(record.ColCommandBuffers, u.TotalCommandBuffers)
	add(record.ColPipelines, u.Pipelines)
	add(record.ColIdle, s.IdleBytes)
	add(record.ColIdleCount, s.IdleCount)
	add(record.ColNominal, s.NominalBytes)
	add(record.ColPoolHits, s.Hits)
	add(record.ColPoolMisses, s.Misses)
	return cells
}

// tick says that a step has been done.
func (p *program) tick() {
	p.made.look()
	p.client.Step(p.step.Add(1))
}

// flag is the value of a setting.
func (p *program) flag(name string) string {
	if v, ok := p.Flags[name]; ok {
		return v
	}
	f, _ := p.workload.Flag(name)
	return f.Default
}

// number is the value of a whole-number setting, which was checked.
func (p *program) number(name string) int {
	n, _ := strconv.Atoi(p.flag(name))
	return n
}

// did traces the statement of the caller's line that has just ended.
func (p *program) did(tag console.Tag) {
	p.made.look()
	if !p.printer.Modes().MemTrace {
		return
	}
	at := console.Position{}
	if _, file, line, ok := runtime.Caller(1); ok {
		at = console.Position{File: filepath.Base(file), Line: line, Col: 1}
	}
	p.printer.Statement(at, tag, p.memory())
	p.client.Mark(record.KindStatement, string(tag), at.String())
	p.ranked.add(string(tag), at.String(), ownRSS())
}

// end gives everything up and reports what stayed. failed is the outcome of
// the work; the memory check comes in any case.
func (p *program) end(failed error) error {
	err := failed
	if p.Fault != "no-flush" { // which is that nothing waits, here neither
		err = errors.Join(err, p.rt.Sync())
	}
	if n := p.hazards.Load(); n > 0 {
		p.client.Mark(record.KindEvent, record.EventHazards+strconv.FormatInt(n, 10), "")
	}
	p.client.Phase(record.PhaseReleased)
	after := p.allocated()
	leak := p.printer.CheckAfter(p.baseline, after, p.LeakThreshold, p.poolStats())
	if leak {
		p.printer.Leak(after - p.baseline)
	}
	p.summary()
	p.tellClones()
	tellStatements(p.client, p.ranked.rank())
	err = errors.Join(err, p.client.Close()) // the tracer's experiments happen here
	if pl := p.rt.Pool(); pl != nil && leak {
		pl.Purge()
		p.printer.AfterPurge(after, p.allocated())
	}
	if p.Fault != "" || failed != nil {
		return err // what a fault kept is still held: the process ends with it
	}
	return errors.Join(err, p.rt.Close(), p.closeDevice())
}

func (p *program) closeDevice() error {
	if p.device == nil {
		return nil
	}
	return p.device.Close()
}

// auditedSites is how many lines of the clone audit are printed.
const auditedSites = 3

// stats prints the pool's statistics once: at the end of the program, before it
// clears its variables where it does.
func (p *program) stats() {
	if !p.stated {
		p.stated = true
		p.printer.Stats(p.poolStats())
	}
}

// summary prints who shared tensors, what the pool did and what went wrong in
// it.
func (p *program) summary() {
	p.stats()
	audit := p.rt.CloneAudit()
	for _, c := range audit[:min(len(audit), auditedSites)] {
		line, _, _ := strings.Cut(c.Site, " ") // file:line func
		fmt.Fprintf(p.Stdout, "clone audit: %s added at %s\n", counted(c.Increments, "reference"),
			filepath.Base(line))
	}
	pl := p.rt.Pool()
	if pl == nil {
		return
	}
	s := pl.Stats()
	hit, _ := s.ReuseRate()
	kept, _ := s.ReturnRate()
	if p.spoiled > 0 {
		fmt.Fprintf(p.Stderr, "%s: %d batches failed, %d hazards\n", p.workload.Name, p.spoiled, s.Hazards)
	}
	fmt.Fprintf(p.Stdout,
		"pool %s: %d requests, %.1f %% served from idle buffers, %.1f %% of returns kept, %d hazards\n",
		s.Policy, s.Hits+s.Misses, 100*hit, 100*kept, s.Hazards)
}

// counted is a number of things whose plural has an s.
func counted[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

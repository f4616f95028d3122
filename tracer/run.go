package tracer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// rescan is how often descendants are looked for.
	rescan = 500 * time.Millisecond
	// drainBound is how long to wait for the last lines of agents whose
	// program has ended.
	drainBound = 300 * time.Millisecond

	codeNotFound      = 127
	codeNotExecutable = 126
)

// Run starts a program, records it until it ends, and returns how it ended.
// While it runs it takes the signals of the package documentation; ctx must not
// be one that the same signals cancel. When ctx is done the program gets
// SIGINT, after Config.Grace SIGTERM, after another SIGKILL.
//
// The error is for a run that did not take place: the run folder could not be
// made, nothing can listen for agents, or a *StartError. How the program ended
// is no error, and neither is what was lost while recording (Result.Warnings,
// Meta.Sampling).
func Run(ctx context.Context, cfg Config) (result Result, err error) {
	defer recovered("run", &err)
	cfg.setDefaults()
	if len(cfg.Command) == 0 {
		return Result{ExitCode: -1}, errors.New("run: no command")
	}
	s, err := begin(cfg)
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	if cfg.Logs {
		if err := s.openLogs(); err != nil {
			s.finish(ending{code: -1})
			return s.result, fmt.Errorf("run: %w", err)
		}
		defer s.closeLogs()
		cfg.Stdout, cfg.Stderr = s.cfg.Stdout, s.cfg.Stderr
	}
	listen := listener{r: s.recording, concludes: &s.concludes}
	if s.server, err = agent.Listen(listen, readLag(s.cfg.Interval)); err != nil {
		s.finish(ending{code: -1})
		return s.result, fmt.Errorf("run: %w", err)
	}
	signals := takeSignals(cfg.Logs)
	defer signals.stop()
	cmd := command(cfg, s.server.Path())
	signals.prepare(cmd)
	s.shared = newSharedMemory()
	cmd, startErr := startCommand(cmd, cfg.Command[0])
	if err := startErr; err != nil {
		s.warn(err.Error())
		s.finish(ending{code: err.Code})
		return s.result, err
	}
	s.track(cmd.Process.Pid)
	s.loop(func() { s.shared.follow(s.done) })
	exited := make(chan struct{})
	go func() {
		cmd.Wait() // what it returns is in ProcessState, and copying there is none
		close(exited)
	}()
	if !s.supervise(ctx, signals, cmd.Process, exited) {
		s.finish(ending{code: -1}) // how it will end nobody knows yet
		return s.result, nil
	}
	s.server.Drain(drainBound)
	s.guard(s.tellLeft)
	s.guard(func() { s.warn(s.shared.left()) })
	s.finish(endingOf(cmd.ProcessState))
	return s.result, nil
}

// command makes the program's exec.Cmd with the environment of the protocol.
func command(cfg Config, socket string) *exec.Cmd {
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...)
	cmd.Dir = cfg.Dir
	settle := time.Duration(0)
	if cfg.GPU != nil {
		settle = settleGPU
	}
	// A later entry replaces an earlier one of the same name.
	cmd.Env = append(slices.Concat(cfg.environ(), cfg.Inject),
		agent.EnvSocket+"="+socket,
		agent.EnvInterval+"="+strconv.FormatFloat(float64(cfg.Interval)/float64(time.Millisecond),
			'f', -1, 64),
		agent.EnvHold+"=1",
		agent.EnvSettle+"="+strconv.FormatInt(settle.Milliseconds(), 10))
	// A nil *os.File in an interface would not be nil.
	if cfg.Stdin != nil {
		cmd.Stdin = cfg.Stdin
	}
	if cfg.Stdout != nil {
		cmd.Stdout = cfg.Stdout
	}
	if cfg.Stderr != nil {
		cmd.Stderr = cfg.Stderr
	}
	return cmd
}

// startCommand starts cmd and puts a failure into a shell's terms. What was
// started is cmd, or the shell that reads a script which names no interpreter.
func startCommand(cmd *exec.Cmd, name string) (*exec.Cmd, *StartError) {
	err := cmd.Start()
	if errors.Is(err, syscall.ENOEXEC) && isScript(cmd.Path) {
		cmd = shellCommand(cmd)
		err = cmd.Start()
	}
	switch {
	case err == nil:
		return cmd, nil
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return cmd, &StartError{Command: name, Code: codeNotFound, Err: err}
	}
	return cmd, &StartError{Command: name, Code: codeNotExecutable, Err: err}
}

// isScript reports whether a file that the system cannot start is one that
// shells run themselves: they take a zero byte in the first line for a program
// of another machine.
func isScript(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	beginning := make([]byte, 4096)
	n, err := io.ReadFull(file, beginning)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return false
	}
	line, _, _ := bytes.Cut(beginning[:n], []byte("\n"))
	return !bytes.ContainsRune(line, 0)
}

// shellCommand is cmd run by the shell, as execvp(3) does it.
func shellCommand(cmd *exec.Cmd) *exec.Cmd {
	const shell = "/bin/sh"
	return &exec.Cmd{
		Path: shell, Args: append([]string{shell, cmd.Path}, cmd.Args[1:]...),
		Dir: cmd.Dir, Env: cmd.Env, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		SysProcAttr: cmd.SysProcAttr,
	}
}

// Attach records a process that runs already, until it ends or ctx is done: from
// outside, and with Config.Enter by an agent that is brought in and leaves at the end.
// Its exit code is not known. The error is for a process that is
// not there (probe.ErrExited) or may not be read, and for a run folder that
// could not be made.
func Attach(ctx context.Context, pid int, cfg Config) (result Result, err error) {
	defer recovered("attach", &err)
	cfg.setDefaults()
	ps, err := probe.Open(pid)
	if err != nil {
		return Result{ExitCode: -1}, fmt.Errorf("attach: %w", err)
	}
	var m probe.Memory
	err = ps.ReadSplit(&m)
	ps.Close()
	if err != nil {
		return Result{ExitCode: -1}, fmt.Errorf("attach: %w", err)
	}
	if cfg.Command == nil {
		cfg.Command = commandAfterExec(pid)
	}
	// Ours is not that of the process; the empty one stands for unknown.
	cfg.Env = append([]string{}, environment(pid)...)
	cfg.pid = pid
	s, err := begin(cfg)
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	s.multi = cfg.Resume
	s.tellBreak()
	s.before = &before{device: probe.Unknown}
	if cfg.Enter != nil {
		s.listenFor(pid)
	}
	s.shared = newSharedMemory()
	s.track(pid)
	s.loop(func() { s.shared.follow(s.done) })
	s.watch(ctx)
	s.guard(func() { s.warn(s.shared.hadUnused()) })
	s.depart()
	s.tellBefore()
	s.finish(ending{code: -1})
	return s.result, nil
}

// commandAfterExec is the command of a process that may have started this
// moment: until its exec has ended, its command line is empty.
func commandAfterExec(pid int) []string {
	for range 20 {
		if command := commandLine(pid); command != nil {
			return command
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// attempt is one call of Run or Attach.
type attempt struct {
	*recording
	server    *agent.Server
	scanning  sync.Mutex // held while tree is used
	tree      *probe.Tree
	usage     probe.Usage // our own, at the start
	began     time.Time   // by the system's clock
	concludes sync.WaitGroup
	loops     sync.WaitGroup
	done      chan struct{} // closed when the sampling ends
	stopping  sync.Once
	gone      chan struct{} // closed when the timer finds the program gone
	logs      []*programLog // opened for the program
	shared    *sharedMemory
	result    Result
}

// begin makes the run folder.
func begin(cfg Config) (*attempt, error) {
	clock := agent.NewClock()
	startNs := clock.Now()
	out, began, err := cfg.folder(&startNs)
	if err != nil {
		return nil, err
	}
	usage, _ := probe.Self() // unknown usage is then unknown at the end, too
	s := &attempt{
		recording: newRecording(cfg, out, clock, startNs), usage: usage, began: began,
		done: make(chan struct{}), gone: make(chan struct{}),
	}
	s.kill = newKillWatch(withHostLimits(nil))
	cfg.Control.begin(s)
	return s, nil
}

// supervise waits for the program's end, passes signals on, and ends the
// program when ctx is done. It reports false when the program is left running.
func (s *attempt) supervise(ctx context.Context, signals *signals, p *os.Process,
	exited <-chan struct{}) bool {
	leaving, failed := s.cfg.Control.leaving(), s.failed
	cancelled := ctx.Done()
	steps := signals.endings()
	var next <-chan time.Time
	for {
		select {
		case <-exited:
			return true
		case <-leaving:
			s.leave()
			return false
		case <-failed:
			failed = nil
			s.stop()
		case sig := <-signals.came:
			signals.pass(p, sig)
		case <-signals.moved:
			signals.follow(p)
		case <-cancelled:
			cancelled = nil
			next = time.After(0)
		case <-next:
			signals.send(p, steps[0])
			if len(steps) > 1 {
				steps = steps[1:]
			}
			next = time.After(s.cfg.Grace)
		}
	}
}

// watch waits for the end of a process that is not ours.
func (s *attempt) watch(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.cfg.Control.leaving():
		s.leave()
	case <-s.gone:
	case <-s.failed:
	}
}

// stop ends the sampling, and lets go of the agents.
func (s *attempt) stop() {
	s.stopping.Do(func() {
		close(s.done)
		if s.server != nil {
			if err := s.server.Close(); err != nil {
				s.warn(err.Error())
			}
		}
	})
}

// finish ends the recording and writes run.json a last time.
func (s *attempt) finish(e ending) {
	s.cfg.Control.end()
	s.stop()
	s.concludes.Wait()
	s.loops.Wait()
	s.recording.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.main != 0 && !s.heard[s.main] && s.cfg.Unheard != nil {
		if text := s.cfg.Unheard(); text != "" {
			s.warnLocked(text)
		}
	}
	for _, pid := range s.pidsLocked() {
		s.tellCut(s.procs[pid])
		s.procs[pid].tellSpace(s.recording)
	}
	s.tellKill(e)
	s.tellSurplus()
	if s.skipped > 0 {
		s.warnLocked(fmt.Sprintf("%d samples and steps over %d a second have no row", s.skipped,
			rowsPerSecond))
	}
	// The system's clock may have been set since; the end is never before the start.
	end := s.began.Add(time.Duration(s.clock.Now() - s.start)).Round(0)
	err := s.out.UpdateMeta(func(m *record.Meta) {
		m.End, m.Signal = &end, e.signal
		if e.code >= 0 {
			m.ExitCode = &e.code
		}
		m.Sampling = s.sampling()
	})
	for _, err := range [...]error{err, s.out.Close()} {
		if err != nil {
			s.warnLocked(err.Error())
		}
	}
	s.result.Dir, s.result.ExitCode, s.result.Signal = s.out.Dir(), e.code, e.signal
	s.result.Meta, s.result.Warnings = s.out.Meta(), s.warnings
}

// sampling is how well the recording went. The lock is held.
func (s *attempt) sampling() *record.Sampling {
	own := record.Sampling{Missed: s.missed, SkippedRows: s.skipped, DroppedByAgent: s.agentDropped()}
	if u, err := probe.Self(); err == nil {
		own.CPUSeconds = (u.CPU - s.usage.CPU).Seconds()
		own.RSSBytes = u.RSS
	}
	return &own
}

// ending is how a program ended.
type ending struct {
	code   int // -1 is not known
	signal string
}

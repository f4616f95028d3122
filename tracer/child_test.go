//go:build unix

package tracer

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

// childMode makes this test binary play a program instead of testing: the mode
// and its arguments, separated by spaces.
const childMode = "GPUMEM_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		args := strings.Fields(mode)
		os.Exit(children()[args[0]](args[1:]))
	}
	heedSignals()
	os.Exit(m.Run())
}

// heedSignals lets programs that the tests start have the signals' default
// effects, also where the tests run as a background job with some ignored: a
// signal that is caught here is not ignored in a program started from here.
func heedSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// children are the programs this binary can play.
func children() map[string]func(args []string) int {
	return map[string]func([]string) int{
		"exit":    func(a []string) int { return atoi(a[0]) },
		"die":     childDie,
		"work":    childWork,
		"leak":    childLeak,
		"copy":    childCopy,
		"trap":    childTrap,
		"tree":    childTree,
		"wait":    childWait,
		"hostile": childHostile,
		"mute":    childMute,
		"late":    childLate,
		"trace":   childTrace,
		"relay":   childRelay,
		"hear":    childHear,
		"quota":   childQuota,
		"forever": childForever,
		"ranks":   childRanks,
		"leave":   childLeave,
		"hold":    childHold,
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

// child is the command line of a child; mode goes through the environment.
func childConfig(t testing.TB, mode string) Config {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Command: []string{exe}, Env: childEnv(mode), Out: t.TempDir() + "/run", Interval: 10 * time.Millisecond,
	}
}

func childEnv(mode string) []string { return append(os.Environ(), childMode+"="+mode) }

// tracerProcess is a tracer as a process of its own, to be started, and its run
// folder.
func tracerProcess(t *testing.T, mode string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "run")
	cmd = exec.Command(exe)
	cmd.Env = childEnv(mode + " " + dir)
	return cmd, dir
}

// until waits for what another process does.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// childDie ends itself by a signal.
func childDie(a []string) int {
	syscall.Kill(os.Getpid(), syscall.Signal(atoi(a[0])))
	time.Sleep(time.Minute)
	return 1
}

// childCopy copies stdin to stdout and says done on stderr.
func childCopy([]string) int {
	n, err := io.Copy(os.Stdout, os.Stdin)
	fmt.Fprintf(os.Stderr, "done %d %v\n", n, err)
	return 0
}

// childWork makes steps with an agent and keeps a buffer a step.
func childWork(a []string) int {
	steps, pause := int64(atoi(a[0])), time.Duration(atoi(a[1]))*time.Microsecond
	var held atomic.Int64
	unified := true
	c, err := agent.Connect(agent.Hello{Device: "soft", UnifiedMemory: &unified, CapacityBytes: 1 << 30},
		func(cells []record.Cell) []record.Cell {
			return append(cells,
				record.Cell{Column: record.ColLive, Value: held.Load()}, record.Cell{Column: record.ColLiveCount,
					Value: held.Load() / 4096},
				record.Cell{Column: record.ColGPU, Value: held.Load()}, record.Cell{Column: record.ColRSS, Value: 1})
		})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	c.Phase(record.PhaseBaseline)
	for n := int64(1); n <= steps; n++ {
		held.Add(4096) // before Step, which takes the sample
		c.Step(n)
		time.Sleep(pause)
	}
	c.Mark(record.KindEvent, "all steps done", "child.go:1:1")
	c.Phase(record.PhaseReleased)
	if c.Close() != nil {
		return 4
	}
	return 0
}

// mapped is touched memory of so many bytes.
func mapped(size int) ([]byte, error) {
	mem, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	for i := 0; i < len(mem); i += 4096 {
		mem[i] = 1
	}
	return mem, err
}

// takeAgain takes twice the size, a MiB at a time.
func takeAgain(size int) {
	for range 2 * size >> 20 {
		time.Sleep(5 * time.Millisecond)
		if _, err := mapped(1 << 20); err != nil {
			return
		}
	}
}

// childLeak holds touched memory until it is asked to purge; with an argument
// it lives until the end of stdin, and with "again" it goes on growing after the purge.
func childLeak(a []string) int {
	const size = 64 << 20
	mem, err := mapped(size)
	if err != nil {
		return 2
	}
	c, err := agent.Connect(agent.Hello{}, nil)
	if err != nil {
		return 3
	}
	c.Handle(agent.ActionPurge, func() agent.Done {
		claimed, count := int64(size), int64(1)
		syscall.Munmap(mem)
		if slices.Contains(a, "again") {
			go takeAgain(size)
		}
		return agent.Done{ClaimedBytes: &claimed, Count: &count}
	})
	c.Handle(agent.ActionSync, func() agent.Done { return agent.Done{} })
	c.Handle(agent.ActionSites, func() agent.Done {
		return agent.Done{Detail: agent.SitesDetail([]record.Site{{Site: "leak.go:7 <b>", Bytes: size, Count: 1}})}
	})
	c.Handle(agent.ActionHolders, func() agent.Done {
		return agent.Done{Detail: agent.HoldersDetail([]record.Holder{{Path: "mem", Bytes: size, Count: 1}})}
	})
	if len(a) > 0 {
		io.Copy(io.Discard, os.Stdin)
	}
	c.Close()
	return 0
}

// childTrap says ready, then which signals it gets, and ends at INT or TERM
// with code 7; "ignore" makes it end at neither.
func childTrap(a []string) int {
	came := make(chan os.Signal, 8)
	signal.Notify(came, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	fmt.Println("ready")
	for sig := range came {
		fmt.Println(sig)
		if len(a) == 0 && (sig == syscall.SIGINT || sig == syscall.SIGTERM) {
			return 7
		}
	}
	return 0
}

// childHear says ready, and then the number of every signal that it can take, and
// ends at TERM with code 7. It lets the signals for jobs have their effects.
func childHear([]string) int {
	came := make(chan os.Signal, 64)
	for sig := syscall.Signal(1); sig <= 64; sig++ {
		switch sig {
		case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU:
		default:
			signal.Notify(came, sig)
		}
	}
	fmt.Println("ready")
	for sig := range came {
		fmt.Println(int(sig.(syscall.Signal)))
		if sig == syscall.SIGTERM {
			return 7
		}
	}
	return 0
}

// childTree starts n children and has each wait for the end of our stdin.
func childTree(a []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	for range atoi(a[0]) {
		cmd := exec.Command(exe)
		cmd.Env = childEnv("wait")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if cmd.Start() != nil {
			return 1
		}
		defer cmd.Wait()
	}
	fmt.Println("ready")
	return childWait(nil)
}

// childRanks starts as many children in mode wait, each with a rank.
func childRanks(a []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	for rank := range atoi(a[0]) {
		cmd := exec.Command(exe, "--rank-of-the-test")
		cmd.Env = append(childEnv("wait"), fmt.Sprintf("RANK=%d", rank+5))
		cmd.Stdin = os.Stdin
		if cmd.Start() != nil {
			return 1
		}
		defer cmd.Wait()
	}
	fmt.Println("ready")
	return childWait(nil)
}

// childWait waits for the end of stdin.
func childWait([]string) int {
	io.Copy(io.Discard, os.Stdin)
	return 0
}

func childForever([]string) int {
	fmt.Println("ready")
	time.Sleep(time.Minute)
	return 0
}

// childHostile sends what a file holds to the tracer, over one connection a
// line of dashes, and then works on.
func childHostile(a []string) int {
	data, err := os.ReadFile(a[0])
	if err != nil {
		return 1
	}
	text := strings.ReplaceAll(string(data), "PID", strconv.Itoa(os.Getpid()))
	for _, part := range strings.Split(text, "-----\n") {
		conn, err := net.Dial("unix", os.Getenv(agent.EnvSocket))
		if err != nil {
			return 2
		}
		io.WriteString(conn, part)
		conn.(*net.UnixConn).CloseWrite()
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	return childWork([]string{"3", "0"})
}

// childMute connects, never reads and never ends its hold by itself.
func childMute([]string) int {
	conn, err := net.Dial("unix", os.Getenv(agent.EnvSocket))
	if err != nil {
		return 2
	}
	fmt.Fprintf(conn, `{"hello":{"v":1,"pid":%d,"actions":["sites"]}}`+"\n"+
		`{"mark":{"kind":"phase","name":"exiting"}}`+"\n", os.Getpid())
	return 0
}

// childLate tells a sample of .3 s ago, and then, one by one, samples of now.
func childLate([]string) int {
	conn, err := net.Dial("unix", os.Getenv(agent.EnvSocket))
	if err != nil {
		return 2
	}
	defer conn.Close()
	fmt.Fprintf(conn, `{"hello":{"v":1,"pid":%d}}`+"\n", os.Getpid())
	time.Sleep(400 * time.Millisecond)
	clock := agent.NewClock()
	for n := range 50 {
		at := clock.Now()
		if n == 0 {
			at -= int64(300 * time.Millisecond)
		}
		fmt.Fprintf(conn, `{"sample":{"t_ns":%d,"live_count":%d}}`+"\n", at, n)
		time.Sleep(2 * time.Millisecond)
	}
	return 0
}

// childTrace is a tracer: it traces a child in mode work.
func childTrace(a []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	_, err = Run(context.Background(), Config{
		Command: []string{exe}, Env: childEnv("work 100000 200"), Out: a[0], Interval: 2 * time.Millisecond,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childRelay is a tracer that traces a child, in mode trap if none is named, and
// ends as it does.
func childRelay(a []string) int {
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	program := "trap"
	if len(a) > 1 {
		program, a = a[0], a[1:]
	}
	res, err := Run(context.Background(), Config{
		Command: []string{exe}, Env: childEnv(program), Out: a[0], Stdout: os.Stdout, Stderr: os.Stderr,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return res.ExitCode
}

// childQuota is a tracer that may write files of 20,000 bytes and no more.
func childQuota(a []string) int {
	limit := syscall.Rlimit{Cur: 20_000, Max: 20_000}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return 1
	}
	exe, err := os.Executable()
	if err != nil {
		return 1
	}
	res, err := Run(context.Background(), Config{Command: []string{exe}, Env: childEnv("work 1500 500"), Out: a[0]})
	if err != nil {
		return 1
	}
	for _, w := range res.Warnings {
		fmt.Println(w)
	}
	return res.ExitCode
}

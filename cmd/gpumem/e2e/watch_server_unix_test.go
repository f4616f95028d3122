//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/books"
	"github.com/gpumem/gpumem/cmd/gpumem/watching"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

func TestWatchShowsAServersDevicesAndKinds(t *testing.T) {
	t.Parallel()
	dir, socket, _ := served(t, "--device", "0:wormhole_b0:100MiB:10MiB")
	reports(t, socket, buffer(0, 0x1000, 80<<20, ttmetal.DRAM), buffer(0, 0x2000, 95<<17, ttmetal.L1),
		buffer(1, 0x3000, 3<<30, ttmetal.DRAM), buffer(1, 0x4000, 1<<20, ttmetal.L1Small),
		buffer(1, 0x5000, 2<<20, ttmetal.Trace),
		ttmetal.Request{Kind: ttmetal.CBAlloc, Device: 1, ID: 0x6000, Size: 1 << 20, PID: int32(os.Getpid())})
	got := gpumem(t, dir, "watch", "--server", socket, "--samples", "2", "--interval", "20ms")
	if got.code != 0 || strings.Count(got.stdout, "Cross-Process Memory Monitor") != 2 ||
		strings.Contains(got.stdout, "\x1b") {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for _, want := range []string{
		"Device 0: 2 buffers\n", "Device 1: 3 buffers, 1 circular buffer\n",
		"  DRAM     [" + strings.Repeat("█", 20) + strings.Repeat("░", 5) + "]  80.0 %  80.0 MiB of 100 MiB\n",
		"  L1       [", "  L1_SMALL [", "  TRACE    [", "  CB       [", "of 12.0 GiB*\n",
		fmt.Sprintf("  PID %d on device 1: 3 buffers, ", os.Getpid()), "Active allocations: 5",
		"gpumem serve --device tells how much it is",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("no %q in\n%s", want, got.stdout)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "out"))
	if err != nil || strings.Contains(string(text), "DUMP_REMAINING") {
		t.Errorf("a watched server prints dumps: %v\n%s", err, text)
	}
}

func TestWatchPrintsAServerAsOneObjectASample(t *testing.T) {
	t.Parallel()
	dir, socket, _ := served(t, "--device", "0:wormhole_b0:100MiB:10MiB")
	reports(t, socket, buffer(0, 0x1000, 80<<20, ttmetal.DRAM), buffer(0, 0x2000, 95<<17, ttmetal.L1),
		buffer(1, 0x3000, 4096, ttmetal.DRAM))
	got := gpumem(t, dir, "watch", "--server", socket, "--json", "--samples", "2", "--interval", "20ms", "-d",
		"0")
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || len(lines) != 2 {
		t.Fatalf("exit code %d, %d lines\n%s%s", got.code, len(lines), got.stdout, got.stderr)
	}
	var first, second books.Sample
	for i, into := range []*books.Sample{&first, &second} {
		if err := json.Unmarshal([]byte(lines[i]), into); err != nil {
			t.Fatal(err)
		}
	}
	if len(first.Devices) != 1 || len(first.Devices[0].Kinds) != 2 || *first.Active != 3 {
		t.Fatalf("%+v", first)
	}
	dram, l1 := first.Devices[0].Kinds[0], first.Devices[0].Kinds[1]
	if dram.Level != "high" || l1.Level != "full" || dram.Assumed || dram.Capacity != 100<<20 ||
		dram.Rate != nil {
		t.Errorf("%+v %+v", dram, l1)
	}
	if rate := second.Devices[0].Kinds[0].Rate; rate == nil || *rate != 0 {
		t.Errorf("the rate of a second sample is %v", rate)
	}
}

// TestAServerThatIsNotOursIsAskedForItsCounters plays a server of tt-metal: it
// answers queries only.
func TestAServerThatIsNotOursIsAskedForItsCounters(t *testing.T) {
	t.Parallel()
	dir := shortFolder(t)
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for used := uint64(0); ; used += 1 << 20 {
			c, err := l.Accept()
			if err != nil {
				return
			}
			answerQueries(c, used)
		}
	}()
	got := gpumem(t, dir, "watch", "--server", socket, "--samples", "2", "--interval", "20ms")
	if got.code != 0 || strings.Contains(got.stdout, "Active") || !strings.Contains(got.stdout, "Device 2:\n") ||
		!strings.Contains(got.stdout, "1 MiB of 75.0 MiB*\n") || !strings.Contains(got.stdout, "/min") {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
}

// answerQueries says of device 2 that so much of its L1 is in use, of others
// nothing.
func answerQueries(c net.Conn, used uint64) {
	defer c.Close()
	for b := make([]byte, ttmetal.V1); ; {
		c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.ReadFull(c, b); err != nil || b[0] != byte(ttmetal.Query) {
			return
		}
		r := ttmetal.Reply{Kind: ttmetal.Response, Device: int32(b[4])}
		if b[4] == 2 {
			r.Used[ttmetal.CountL1] = used
		}
		if _, err := c.Write(r.Append(nil, ttmetal.V1)); err != nil {
			return
		}
	}
}

func TestAServerThatIsNotThereIsAnErrorThatSaysHowToStartIt(t *testing.T) {
	t.Parallel()
	dir := shortFolder(t)
	got := gpumem(t, dir, "watch", "--server", filepath.Join(dir, "none"), "--json")
	if got.code != exitFailed || !strings.Contains(got.stderr, "gpumem serve --socket") {
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
}

func TestWatchPrintsTheMachineAsOneObjectASample(t *testing.T) {
	t.Parallel()
	got := gpumem(t, t.TempDir(), "watch", "--json", "--samples", "3", "--interval", "20ms",
		fmt.Sprint(os.Getpid()))
	lines := strings.Split(strings.TrimSpace(got.stdout), "\n")
	if got.code != 0 || len(lines) != 3 {
		t.Fatalf("exit code %d, %d lines\n%s%s", got.code, len(lines), got.stdout, got.stderr)
	}
	for _, text := range lines {
		var line watching.Sample
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.Schema != 1 || line.Time.IsZero() || line.Devices == nil || len(line.Processes) != 1 ||
			line.Processes[0].PID != os.Getpid() || line.Processes[0].Sample["rss_bytes"] <= 0 {
			t.Errorf("%s", text)
		}
	}
}

func TestFlagsOfLinesThatDoNotGoTogetherAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{{"--samples", "2"}, {"-d", "0"}, {"--server", "s", "1"},
		{"--json", "--samples", "-1"}, {"--json", dir}, {"--json", "--metrics", "127.0.0.1:0"},
		{"--json", "--interval", "1ns"}} {
		if got := gpumem(t, dir, append([]string{"watch"}, args...)...); got.code != exitUsage {
			t.Errorf("%v: exit code %d: %s", args, got.code, got.stderr)
		}
	}
}

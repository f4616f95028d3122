package ttmetal

import (
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"
)

const (
	loadConns = 16
	// loadHeld is how many buffers each program of a load holds: its first
	// messages allocate them, then it frees the oldest and allocates another.
	loadHeld = 500
	loadFor  = 3 * time.Second
	loadTick = time.Millisecond
)

// load is 16 programs that report as fast as they can, or rate messages a
// second in all, perWrite messages a write.
type load struct {
	perWrite, rate int
	state          bool // the server has a state file
}

// run puts a server, in a process of its own, under the load and measures,
// while a monitor, in another, asks. Nothing of it may be lost: the server
// counts each message, and its books are those of the model.
func (l load) run(b *testing.B) {
	socket, cmd := childServer(b, shortDir(b), l.state)
	stop := childMonitor(b, socket)
	sent := make([]int, loadConns)
	var wg sync.WaitGroup
	start := time.Now()
	for c := range loadConns {
		wg.Go(func() {
			var err error
			if sent[c], err = l.program(socket, c, start); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	waits := stop()
	total, want := 0, model{}
	for c, n := range sent {
		total += n
		for i := freed(n); i < allocated(n); i++ {
			q := loadAlloc(c, i)
			want.apply(&q)
		}
	}
	d := dumped(b, socket)
	want.isDumped(b, d)
	// Beside their messages there are the programs' last queries and the dump.
	if got, all := *d.Counts, uint64(total+loadConns+waits.n+1); got.Messages > all || got.Messages < all-1 ||
		got.Unknown+got.Refused+got.Cut+got.Broken > 0 {
		b.Errorf("%d messages were sent, the server counted %+v", all, got)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(total)/took.Seconds(), "messages/s")
	b.ReportMetric(waits.median, "median-query-µs")
	b.ReportMetric(waits.p99, "p99-query-µs")
	cmd.Process.Signal(os.Interrupt)
	cmd.Wait() //nolint:errcheck // its times count
	b.ReportMetric(100*(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()/took.Seconds(),
		"%cpu-server")
}

// allocated and freed are how many buffers a program allocated and freed with
// its first n messages.
func allocated(n int) int { return min(n, loadHeld) + max(n-loadHeld, 0)/2 }
func freed(n int) int     { return n - allocated(n) }

func loadAlloc(c, i int) Request {
	return alloc(int32(c%8), uint64(c)<<32|uint64(i), uint64(64+i%1000), L1, int32(os.Getpid()))
}

// loadMessage is message n of program c.
func loadMessage(c, n int) Request {
	if n < loadHeld || (n-loadHeld)%2 == 1 {
		return loadAlloc(c, allocated(n))
	}
	return free(int32(c%8), uint64(c)<<32|uint64(freed(n)), int32(os.Getpid()))
}

// program is one program. It ends with a query, so that all it sent is read.
func (l load) program(socket string, c int, start time.Time) (n int, err error) {
	k, err := net.Dial("unix", socket)
	if err != nil {
		return 0, err
	}
	defer k.Close()
	b := make([]byte, 0, l.perWrite*V4)
	for time.Since(start) < loadFor {
		due := math.MaxInt
		if l.rate > 0 {
			due = int(time.Since(start).Seconds() * float64(l.rate) / loadConns)
		}
		for n < due && time.Since(start) < loadFor {
			for b = b[:0]; n < due && len(b) < l.perWrite*V4; n++ {
				b = loadMessage(c, n).Append(b, V4)
			}
			if _, err := k.Write(b); err != nil {
				return n, err
			}
		}
		time.Sleep(loadTick)
	}
	if _, err := k.Write(Request{Kind: Query}.Append(b[:0], V4)); err != nil {
		return n, err
	}
	_, err = io.ReadFull(k, make([]byte, V4))
	return n, err
}

// queryWaits are how long queries waited, in microseconds.
type queryWaits struct {
	n           int
	median, p99 float64
}

// childMonitor starts a monitor in a process of its own; stop ends it.
func childMonitor(b *testing.B, socket string) (stop func() queryWaits) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childAsk+"="+socket)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return func() (w queryWaits) {
		in.Close()
		if _, err := fmt.Fscan(out, &w.n, &w.median, &w.p99); err != nil {
			b.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
		return w
	}
}

// askAsChild queries every millisecond until its input ends, and prints how
// often, and the median and the 99th percentile of the waits in microseconds.
func askAsChild(socket string) error {
	k, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer k.Close()
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // it ends either way
		close(ended)
	}()
	var waits []float64
	q, answer := Request{Kind: Query}.Append(nil, V4), make([]byte, V4)
	for {
		select {
		case <-ended:
			slices.Sort(waits)
			fmt.Println(len(waits), waits[len(waits)/2], waits[len(waits)*99/100])
			return nil
		case <-time.After(loadTick):
		}
		start := time.Now()
		if _, err := k.Write(q); err != nil {
			return err
		}
		if _, err := io.ReadFull(k, answer); err != nil {
			return err
		}
		waits = append(waits, float64(time.Since(start).Microseconds()))
	}
}

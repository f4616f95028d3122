package firsttouch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// faulting is a program that does nothing but touch new pages: 64 times 4 MiB
// for each line of its input. It prints what each fault took of a processor,
// in ns.
const faulting = `#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#define SIZE (4 << 20)
static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(void) {
	char c, *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(p, SIZE, MADV_NOHUGEPAGE);
	puts("ready");
	fflush(stdout);
	while (read(0, &c, 1) == 1) {
		for (int k = 0; k < 64; k++) {
			double from = now();
			for (long i = 0; i < SIZE; i += 4096) p[i] = 1;
			printf("%.1f ", (now() - from) / (SIZE / 4096));
			madvise(p, SIZE, MADV_DONTNEED);
		}
		puts("");
		fflush(stdout);
	}
}
`

// faulter is that program.
type faulter struct {
	b   *testing.B
	pid int
	in  io.WriteCloser
	out *bufio.Reader
}

func startFaulter(b *testing.B) *faulter {
	b.Helper()
	dir := b.TempDir()
	src, bin := filepath.Join(dir, "f.c"), filepath.Join(dir, "f")
	if err := os.WriteFile(src, []byte(faulting), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("cc", "-O2", "-o", bin, src).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	f := &faulter{b, cmd.Process.Pid, in, bufio.NewReader(out)}
	if _, err := f.out.ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	return f
}

// run is what the faults of some time took, one figure for each 1024.
func (f *faulter) run(d time.Duration) (ns []float64) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := f.in.Write([]byte("x")); err != nil {
			f.b.Fatal(err)
		}
		for range 64 {
			var x float64
			if _, err := fmt.Fscan(f.out, &x); err != nil {
				f.b.Fatal(err)
			}
			ns = append(ns, x)
		}
	}
	return ns
}

// mean leaves out what another program's interrupts took.
func mean(ns []float64) float64 {
	slices.Sort(ns)
	limit, sum, n := 1.5*ns[len(ns)/2], 0., 0.
	for _, x := range ns {
		if x < limit {
			sum, n = sum+x, n+1
		}
	}
	return sum / n
}

// BenchmarkCostToTheTarget prints what a fault costs a program that does
// nothing else, untouched and watched, and the share that watching adds: the
// median of pairs in turn. Run it with -benchtime 15x on a machine that has
// nothing else to do.
func BenchmarkCostToTheTarget(b *testing.B) {
	for _, c := range []struct {
		name string
		o    Options
	}{{"thinned", Options{}},
		{"every=1", Options{Period: 1, RingPages: 1 << 11, Interval: 2 * time.Millisecond}}} {
		b.Run(c.name, func(b *testing.B) {
			f := startFaulter(b)
			f.run(time.Second)
			var untouched, watched, shares []float64
			var report Report
			for b.Loop() {
				before := f.run(2 * time.Second)
				r, err := Start(f.pid, c.o)
				if err != nil {
					b.Skipf("refused on this machine: %v", err)
				}
				during := mean(f.run(6 * time.Second))
				report = r.Stop()
				without := mean(append(before, f.run(2*time.Second)...))
				untouched, watched = append(untouched, without), append(watched, during)
				shares = append(shares, during/without-1)
			}
			for _, list := range [][]float64{untouched, watched, shares} {
				slices.Sort(list)
			}
			n := len(shares)
			b.ReportMetric(untouched[n/2], "ns/fault")
			b.ReportMetric(watched[n/2], "ns/watched-fault")
			b.ReportMetric(100*shares[n/2], "%cost")
			b.ReportMetric(100*shares[n/4], "%cost-lower-quartile")
			b.ReportMetric(100*shares[3*n/4], "%cost-upper-quartile")
			b.ReportMetric(100*report.Watched, "%watched")
			b.ReportMetric(float64(report.Samples), "samples")
		})
	}
}

// BenchmarkOpeningAnEvent prints what opening and closing an event takes of the
// thread that it is for: done some hundred times a second it shows also on a
// machine that has other things to do.
func BenchmarkOpeningAnEvent(b *testing.B) {
	f := startFaulter(b)
	f.run(time.Second)
	o := newOpener(Options{}.withDefaults())
	var each []float64
	for b.Loop() {
		without := f.run(2 * time.Second)
		stop, opened := make(chan struct{}), make(chan int)
		go func() { opened <- openUntil(stop, o, f.pid) }()
		during := mean(f.run(2 * time.Second))
		close(stop)
		n := <-opened
		if n == 0 {
			b.Skip("refused on this machine")
		}
		share := during/mean(append(without, f.run(2*time.Second)...)) - 1
		each = append(each, share*2e6/float64(n))
	}
	slices.Sort(each)
	b.ReportMetric(each[len(each)/2], "µs/open")
}

// openUntil opens and closes an event until it is told to stop, and returns how
// often.
func openUntil(stop <-chan struct{}, o opener, pid int) (n int) {
	for {
		select {
		case <-stop:
			return n
		case <-time.After(2 * time.Millisecond):
		}
		r, err := o.open(pid, pid, maxPeriod)
		if err != nil {
			<-stop
			return n
		}
		r.close()
		n++
	}
}

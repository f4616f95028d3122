//go:build unix

package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// BenchmarkReportOfAMillionRows has the program make a page out of a CSV of a
// million rows and twenty columns, and prints its time, its greatest resident
// memory and the size of the page.
func BenchmarkReportOfAMillionRows(b *testing.B) {
	dir := b.TempDir()
	writeMillionRows(b, filepath.Join(dir, "samples.csv"))
	page := filepath.Join(dir, "report.html")
	var spent, cpu time.Duration // on a busy machine the processor's time says more
	var resident int64
	for b.Loop() {
		cmd := exec.Command(binary, "report", "samples.csv", "--format", "html", "-o", page, "--force")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, io.Discard, io.Discard
		start := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		spent += time.Since(start)
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
			resident = max(resident, int64(usage.Maxrss))
		}
	}
	if runtime.GOOS != "darwin" { // where it is in bytes
		resident <<= 10
	}
	info, err := os.Stat(page)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(spent.Seconds()/float64(b.N), "s/page")
	b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s/page")
	b.ReportMetric(float64(resident)/(1<<20), "resident-MiB")
	b.ReportMetric(float64(info.Size())/1000, "page-kB")
}

// writeMillionRows writes a program that leaks under noise, in twenty columns.
func writeMillionRows(b *testing.B, path string) {
	b.Helper()
	names := []string{record.ColTime, record.ColStep, record.ColRSS, record.ColRSSAnon, record.ColRSSFile,
		record.ColRSSShmem, record.ColSwap, record.ColFootprint,
		record.ColHostHeap, record.ColGPU, record.ColLive, record.ColIdle, record.ColLiveCount,
		record.ColIdleCount, record.ColRefs, record.ColInFlight,
		record.ColCommands, record.ColCommandBuffers, record.ColAllocs, record.ColFrees}
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(f, 1<<20)
	out.WriteString(strings.Join(names, ",") + "\n")
	var line []byte
	noise := uint64(1)
	for i := range int64(1_000_000) {
		line = strconv.AppendInt(line[:0], i*50, 10)
		for c := int64(1); c < int64(len(names)); c++ {
			noise = noise*6364136223846793005 + 1442695040888963407
			line = strconv.AppendInt(append(line, ','), i*c*64+int64(noise>>48), 10)
		}
		out.Write(append(line, '\n'))
	}
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
}

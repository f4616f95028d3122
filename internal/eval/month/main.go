// Command month records a simulated month of many processes, in simulated time, and
// prints what it takes: the recorder's memory, the run folder, and the time of a report.
//
//	go build -o /tmp/gpumem ./cmd/gpumem
//	go run ./internal/eval/month -gpumem /tmp/gpumem
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

// simulation is a run of ranks that train, with loader workers that come and go.
type simulation struct {
	days, processes int
	workers         bool          // loader workers come and go, one every 30 rows
	every           time.Duration // between the rows of a process, but for the last 15 minutes
	keep            int64
	dir             string // where the run folder stays; a temporary one when empty
	out             io.Writer

	writer        *record.Writer
	cells         []record.Cell
	rows          int64
	mostRSS       int64 // of this process
	mostFolder    int64
	longest       time.Duration // that one row took
	over          int64         // rows that took over 50 ms
	begun, looked time.Time
}

func main() {
	s := simulation{out: os.Stdout}
	flag.IntVar(&s.days, "days", 30, "simulated days")
	flag.IntVar(&s.processes, "processes", 64, "processes that live as long as the run")
	flag.DurationVar(&s.every, "every", 2*time.Second, "between two rows of a process; at the end it is 50ms")
	flag.BoolVar(&s.workers, "workers", false, "loader workers come and go besides")
	flag.Int64Var(&s.keep, "keep", record.DefaultKeep, "bound of the run folder, in bytes")
	flag.StringVar(&s.dir, "out", "", "run folder, which stays; a temporary one without it")
	program := flag.String("gpumem", "", "gpumem, to make a report")
	flag.Parse()
	debug.SetMemoryLimit(48 << 20) // the pages of a few garbage collections are no need
	if err := s.run(*program); err != nil {
		fmt.Fprintln(os.Stderr, "month:", err)
		os.Exit(1)
	}
}

func (s *simulation) run(program string) (err error) {
	dir := s.dir
	if dir == "" {
		parent, err := os.MkdirTemp("", "gpumem-month-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(parent)
		dir = filepath.Join(parent, "run")
	}
	meta := record.Meta{Command: []string{"train"}, PID: 1000, Start: time.Unix(0, 0), IntervalMs: 50}
	if s.writer, err = record.Create(dir, meta, record.CreateOptions{Keep: s.keep}); err != nil {
		return err
	}
	s.begun = time.Now()
	if err := s.record(); err != nil {
		return err
	}
	s.look(dir)
	stats := s.writer.Stats()
	if err := s.writer.Close(); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%d days × %d processes, a row each %s: %d rows, %d events in %s\n", s.days,
		s.processes, s.every, stats.Rows, stats.Events, time.Since(s.begun).Round(time.Second))
	fmt.Fprintf(s.out, "left: %d rows, %d events\n", stats.Rows-stats.ThinnedRows,
		stats.Events-stats.ThinnedEvents)
	fmt.Fprintf(s.out, "memory of the recorder: at most %d MiB\n", s.mostRSS>>20)
	fmt.Fprintf(s.out, "run folder: at most %d MiB, %d MiB at the end, of %d MiB\n", s.mostFolder>>20,
		folderSize(dir)>>20, s.keep>>20)
	fmt.Fprintf(s.out, "a row: %s at most, %d took over 50ms\n", s.longest.Round(time.Millisecond), s.over)
	if program == "" {
		return nil
	}
	return s.report(program, dir)
}

// record writes the rows and events of the whole time.
func (s *simulation) record() error {
	const full, fast = 15 * time.Minute, 50 * time.Millisecond
	end := time.Duration(s.days) * 24 * time.Hour
	step := int64(0)
	for at := time.Duration(0); at < end; step++ {
		for p := range s.processes {
			if err := s.row(at, 1000+p, step, 1); err != nil {
				return err
			}
		}
		if err := s.others(at, step); err != nil {
			return err
		}
		if at < end-full {
			at += s.every
		} else {
			at += fast
		}
	}
	return nil
}

// others writes what else there is: workers that come and go, looks for holders, phases.
func (s *simulation) others(at time.Duration, step int64) error {
	var failed []error
	if s.workers && step%30 == 0 {
		pid := 10_000 + int(step/30%50_000)
		failed = append(failed, s.row(at, pid, step, 8), s.event(record.Event{TMs: ms(at), PID: pid,
			Kind: record.KindProcess, Name: "worker"}))
	}
	if step%300 == 0 {
		for p := range s.processes {
			list := make([]record.Holder, 20)
			for i := range list {
				path := fmt.Sprintf("model.layers[%d].cache", i)
				list[i] = record.Holder{Path: path, Bytes: step * int64(i)}
			}
			failed = append(failed, s.event(record.Event{TMs: ms(at), PID: 1000 + p, Kind: record.KindHolders,
				Holders: list}))
		}
	}
	if step%10_000 == 0 {
		failed = append(failed, s.event(record.Event{TMs: ms(at), Kind: record.KindPhase, Name: "epoch"}),
			s.event(record.Event{TMs: ms(at), Kind: record.KindFirstTouch,
				FirstTouch: &record.FirstTouch{Judgement: "churn",
					Owners: []record.TouchOwner{{Library: "libc"}}}}))
		s.look(s.writer.Dir())
	}
	return errors.Join(failed...)
}

func (s *simulation) event(e record.Event) error { return s.writer.Event(e) }

func ms(at time.Duration) float64 { return float64(at) / float64(time.Millisecond) }

// row writes one row of a process. The first of the ranks leaks.
func (s *simulation) row(at time.Duration, pid int, step, part int64) error {
	const mib = 1 << 20
	noise := (step*2654435761 + int64(pid)*40503) >> 7 % 64 * mib / 16
	live := 8<<30/part + noise
	if pid == 1000 {
		live += int64(at/time.Second) * 2048
	}
	host := 2<<30/part + noise*3
	s.cells = append(s.cells[:0], record.Cell{Column: record.ColPID, Value: int64(pid)},
		record.Cell{Column: record.ColStep, Value: step},
		record.Cell{Column: record.ColRSS, Value: host + 200*mib},
		record.Cell{Column: record.ColFootprint, Value: host},
		record.Cell{Column: record.ColGPU, Value: live + 900*mib},
		record.Cell{Column: record.ColLive, Value: live},
		record.Cell{Column: record.ColIdle, Value: 400 * mib},
		record.Cell{Column: record.ColHostHeap, Value: host / 2},
		record.Cell{Column: record.ColAllocs, Value: step * 40})
	start := time.Now()
	err := s.writer.Sample(record.Row{T: at, Cells: s.cells})
	took := time.Since(start)
	s.longest = max(s.longest, took)
	if took > 50*time.Millisecond {
		s.over++
	}
	if s.rows++; s.rows%100_000 == 0 {
		s.look(s.writer.Dir())
	}
	return err
}

// look notes the memory of this process and the size of the folder.
func (s *simulation) look(dir string) {
	s.mostRSS = max(s.mostRSS, resident())
	s.mostFolder = max(s.mostFolder, folderSize(dir))
	if time.Since(s.looked) > 30*time.Second {
		s.looked = time.Now()
		fmt.Fprintf(os.Stderr, "%d rows, %d MiB resident, folder %d MiB\n", s.rows, resident()>>20,
			folderSize(dir)>>20)
	}
}

// resident is the resident memory of this process, in bytes; where the system does
// not tell, what Go has of it.
func resident() int64 {
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := strings.Fields(string(data)); len(f) > 1 {
			if pages, err := strconv.ParseInt(f[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

func folderSize(dir string) (n int64) {
	list, _ := os.ReadDir(dir) // a folder that is not there has no size
	for _, e := range list {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// report has gpumem make a report of the folder, thrice.
func (s *simulation) report(program, dir string) error {
	for range 3 {
		cmd := exec.Command(program, "report", dir)
		start := time.Now()
		answer, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		first, _, _ := strings.Cut(string(answer), "\n")
		fmt.Fprintf(s.out, "report: %.2f s, %.2f s of CPU: %s\n", time.Since(start).Seconds(),
			(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), first)
	}
	return nil
}

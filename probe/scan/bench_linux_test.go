package scan

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/gpumem/gpumem/probe/nvml"
)

// thousand is a machine of 1,000 processes, each with 20 descriptors, ten of
// them with one of a card.
func thousand(tb testing.TB) tree {
	m := newTree(tb)
	m.card(1, "0000:43:00.0", 1<<30, 500<<20)
	for i := range 1000 {
		pid := 1000 + i
		m.process(pid, "worker", "S", 1000, 1000+i, "/bin/sh", "worker", strings.Repeat("argument ", 10))
		for fd := range 20 {
			m.Link(fmt.Sprintf("proc/%d/fd/%d", pid, fd), "socket:[12345]")
		}
		if i%100 == 0 {
			m.client(pid, 30, "0000:43:00.0", i+1, 1000, 0)
		}
	}
	return m
}

func BenchmarkScanOf1000Processes(b *testing.B) {
	m := thousand(b)
	for b.Loop() {
		if s := m.read(Options{}); len(s.Processes) != 1000 {
			b.Fatal(len(s.Processes))
		}
	}
}

func BenchmarkScanOf1000ProcessesWithDescriptors(b *testing.B) {
	m := thousand(b)
	for b.Loop() {
		src := OpenSources(context.Background(),
			SourceOptions{Root: m.Path, NVML: nvml.Options{Library: "/nonexistent"}})
		if s := m.read(Options{Sources: src}); len(s.Processes) != 1000 || s.Processes[0].GPUUnknown {
			b.Fatal(len(s.Processes))
		}
		src.Close()
	}
}

// BenchmarkARealMachineWith1000Processes looks at the machine it runs on, with
// 1,000 more processes, in three ways side by side.
func BenchmarkARealMachineWith1000Processes(b *testing.B) {
	for range 1000 {
		c := exec.Command("sleep", "600")
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			c.Process.Kill()
			c.Wait()
		}()
	}
	b.Run("scan", func(b *testing.B) {
		for b.Loop() {
			if s, err := Read(context.Background(), Options{}); err != nil || len(s.Processes) < 1000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("ps aux", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("ps", "aux").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("gopsutil", func(b *testing.B) {
		for b.Loop() {
			gopsutilLoop(b)
		}
	})
}

// gopsutilLoop is what a loop over gopsutil needs for the same columns;
// processes may end meanwhile.
func gopsutilLoop(b *testing.B) {
	all, err := process.Processes()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range all {
		p.Name()
		p.Exe()
		p.Cmdline()
		p.Username()
		p.CreateTime()
		p.Status()
		p.Times()
		p.MemoryInfoEx()
	}
}

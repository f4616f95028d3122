package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
)

// selftestFlags are the flags of `gpumem selftest`.
type selftestFlags struct {
	devices []string
	size    byteSize
	json    bool
	output  string
	force   bool
	gpu     gpuFlags
}

func newSelftestCommand(std stdio) *cobra.Command {
	f := selftestFlags{size: 64 << 20, gpu: defaultGPUFlags()}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Say what of gpumem works on this machine, and hold its numbers against the system's tools",
		Long: `selftest asks every source of numbers and every driver whether it works here.
On each device a process of its own runs one kernel, allocates a known size
and gives it up again; each account must see that, and what ps, footprint or
nvidia-smi say of the same process must agree. The report has no host name,
no user name and no path: paste it into a ticket as it is.

Exit code 0: all that can work here works; 1: something is wrong. What is not
here (no such GPU, no such system) is not wrong.`,
		Example: `  gpumem selftest
  gpumem selftest --json -o selftest.json     # for a ticket, with every figure
  gpumem selftest --device soft --size 256MiB
  gpumem selftest --device cuda:1`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return selftest(cmd.Context(), std, f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.devices, "device", nil, "only these: host, soft, cuda, cuda:N, apple (default: all that are here)")
	flags.Var(&f.size, "size", "what each device allocates")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.StringVarP(&f.output, "output", "o", "", "write to this file instead of stdout")
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	f.gpu.add(flags)
	return cmd
}

// The bounds of --size: below, growth is lost in what a process does anyway.
const (
	leastSize = 16 << 20
	mostSize  = 4 << 30
)

func (f *selftestFlags) check() error {
	for _, d := range f.devices {
		if d == autoDevice {
			return usagef("--device auto: name a device, or leave the flag out for all")
		}
		if err := checkDevice(d); err != nil {
			return err
		}
	}
	if f.size < leastSize || f.size > mostSize {
		return usagef("--size %s: must be from 16MiB to 4GiB", f.size.String())
	}
	return f.gpu.check()
}

func selftest(ctx context.Context, std stdio, f selftestFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	self, err := executable()
	if err != nil {
		return err
	}
	sources, err := f.gpu.open(ctx)
	if err != nil {
		return err
	}
	if sources != nil {
		defer sources.Close()
	}
	t := &selfTester{report: newSelftestReport(), self: self, size: int64(f.size), sources: sources}
	t.checkSources(ctx)
	for _, name := range t.devices(ctx, f.devices) {
		t.checkDevice(ctx, name)
		if err := ctx.Err(); err != nil {
			return errors.New("interrupted: the report would be a part only")
		}
	}
	write := t.report.text
	if f.json {
		write = t.report.json
	}
	if f.output != "" {
		err = writeFile(f.output, f.force, write)
	} else {
		err = write(std.out)
	}
	if err == nil && t.report.count(wrongResult) > 0 {
		return &codeError{exitFailed}
	}
	return err
}

// selfTester runs the checks and notes what they found.
type selfTester struct {
	report  *selftestReport
	self    string // our own program file
	size    int64  // that each device allocates
	sources *scan.Sources
}

// checkSources says of each source of numbers whether it works here.
func (t *selfTester) checkSources(ctx context.Context) {
	r := t.report
	r.group("sources: who tells numbers here")
	totals, err := probe.ReadTotals(0)
	r.outcome("memory of the machine", err, sizeText(totals.Memory)+", "+sizeText(totals.Available)+" available")
	s, err := scan.Read(ctx, scan.Options{})
	if err == nil {
		text := plural(len(s.Processes), "process", "processes")
		if s.Hidden > 0 {
			text += fmt.Sprintf(", %d of them may not be looked into", s.Hidden)
		}
		r.outcome("scan of the machine", nil, text)
	} else {
		r.outcome("scan of the machine", err, "")
	}
	if t.sources == nil {
		r.add(selftestCheck{Check: "GPU bytes by process", Result: absentResult, Text: "not looked at: --gpu none"})
		return
	}
	for _, a := range t.sources.Absent() {
		r.add(selftestCheck{Check: a.Source, Result: absentResult, Text: strings.TrimPrefix(a.Err.Error(), a.Source+": ")})
	}
	for _, d := range t.sources.Devices(ctx) {
		d.UUID = "" // it names the machine
		text := fmt.Sprintf("%s: %s, %s used of %s", deviceName(t.sources, &d), deviceText(t.sources, &d), sizeText(d.UsedBytes), sizeText(d.TotalBytes))
		result := okResult
		if d.UsedBytes == scan.Unknown {
			result, text = unknownResult, text+" (what is used is not told)"
		}
		r.add(selftestCheck{Check: d.Source, Result: result, Found: known(d.UsedBytes), Text: strings.Join(append([]string{text}, d.Notes...), "; ")})
	}
	for _, limit := range t.sources.Limits() {
		r.add(selftestCheck{Check: "limit", Result: unknownResult, Text: limit})
	}
}

// devices are the names to check: the chosen ones, else all; cuda stands for
// each device that NVIDIA's library lists.
func (t *selfTester) devices(ctx context.Context, chosen []string) []string {
	if len(chosen) == 0 {
		chosen = []string{hostDevice, softDevice, cudaDevice, appleDevice}
	}
	n := 0
	if t.sources != nil {
		for _, d := range t.sources.Devices(ctx) {
			if d.Source == scan.NVML {
				n++
			}
		}
	}
	var names []string
	for _, name := range chosen {
		if name != cudaDevice || n < 2 {
			names = append(names, name)
			continue
		}
		for i := range n {
			names = append(names, cudaDevice+":"+strconv.Itoa(i))
		}
	}
	return slices.Compact(names)
}

// seen is the source that tells of the same device, "" when none does, or when
// this build has no drivers: then a driver that is not here is no news.
func (t *selfTester) seen(ctx context.Context, name string) string {
	if t.sources == nil || loadsNothing() {
		return ""
	}
	_, isCUDA := cudaIndex(name)
	for _, d := range t.sources.Devices(ctx) {
		if isCUDA && d.Source == scan.NVML || name == appleDevice && d.Source == scan.Apple {
			return d.Source
		}
	}
	return ""
}

// settleLimit is how long an account may take to show what happened: drivers
// free after the last command, and collectors of garbage in their own time.
const settleLimit = 10 * time.Second

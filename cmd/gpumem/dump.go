package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/books"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// dumpFlags are the flags of `gpumem dump`.
type dumpFlags struct {
	socket  string
	wait    time.Duration
	json    bool
	judge   bool
	six     bool
	since   string
	failOn  []string
	smallL1 option.Size
	small   option.Size
	large   option.Size
	refs    uint32
	log     books.LogFlags
}

func newDumpCommand(std stdio) *cobra.Command {
	f := dumpFlags{socket: ttmetal.DefaultSocket, wait: 5 * time.Second, smallL1: 12 << 10, small: 1 << 20,
		large: 100 << 20, refs: 2}
	cmd := &cobra.Command{
		Use:   "dump [RUN.json…]",
		Short: "Show the buffers that remain on the books of gpumem serve",
		Long: `dump asks the allocation server for the buffers that remain and prints them; the
server prints them, too. With --judge it says of each device what is normal.
Dumps saved with --json after two or more runs of the same program, oldest
first, are compared: what grows from run to run is a leak, what stays the same
is not. One saved dump is judged. What processes that have ended had not freed
counts for the run in which they ended; --since names a dump from before the
first run. A server that is not gpumem prints the dump itself; then the counters
are shown here.`,
		Example: `  gpumem dump
  gpumem dump --judge
  gpumem dump --json > before.json
  gpumem dump --since before.json run1.json run2.json run3.json
  gpumem dump --log server.log --traces /tmp/tt_alloc_stack_traces.log`,
		RunE: func(_ *cobra.Command, args []string) error { return f.run(std, args) },
	}
	f.add(cmd.Flags())
	return cmd
}

// run shows a server's books, or saved ones, or compares several.
func (f dumpFlags) run(std stdio, args []string) error {
	switch {
	case f.log.On():
		return dumpLog(std, f, args)
	case len(args) > 1:
		return compareDumps(std, f, args)
	case len(f.failOn) > 0:
		return usagef("--fail-on needs the dumps of two or more runs: " +
			"one dump cannot tell a leak from what is in use")
	case len(args) == 1:
		dumps, err := readDumps(f.since, args)
		if err != nil {
			return err
		}
		f.judge = true
		return printDump(std, f, dumps[0])
	}
	return dump(std, f)
}

func (f *dumpFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.socket, "socket", f.socket, "path of the server's socket")
	flags.DurationVar(&f.wait, "wait", f.wait, "how long to wait for the server")
	flags.BoolVar(&f.json, "json", false, "print JSON")
	flags.BoolVar(&f.judge, "judge", false, "say what is normal")
	flags.StringVar(&f.since, "since", "", "a saved dump: leave out what ended processes had left before it")
	flags.BoolVar(&f.six, "six-digits", false, "with --judge, print sizes as the C++ server did")
	flags.Var(&f.smallL1, "small-l1", "L1 of a device up to which it is normal")
	flags.Var(&f.small, "small-dram", "DRAM of a device below which it is normal")
	flags.Var(&f.large, "large-dram", "DRAM of a device above which it is suspect")
	flags.Uint32Var(&f.refs, "refs", f.refs, "references of a buffer above which it is suspect")
	option.AddFailOn(flags, &f.failOn)
	f.log.Add(flags)
}

func (f dumpFlags) thresholds() ttmetal.Thresholds {
	return ttmetal.Thresholds{
		SmallL1: uint64(f.smallL1), SmallDRAM: uint64(f.small), LargeDRAM: uint64(f.large), Refs: f.refs,
	}
}

// dumpLog prints what saved logs say.
func dumpLog(std stdio, f dumpFlags, args []string) error {
	if err := f.log.Check(); err != nil {
		return err
	}
	switch {
	case len(args) > 0:
		return usagef("dump --log takes no saved dumps")
	case len(f.failOn) > 0 || f.judge || f.since != "":
		return usagef("--log takes no --fail-on, --judge or --since; gpumem report judges a log")
	}
	return f.log.Print(std.out, std.err, f.json)
}

// dump asks the server and prints.
func dump(std stdio, f dumpFlags) error {
	var answer bytes.Buffer
	asJSON := f.json || f.judge || f.since != ""
	err := ttmetal.Ask(f.socket, asJSON, f.wait, &answer)
	switch {
	case errors.Is(err, ttmetal.ErrElsewhere):
		return foreignTotals(std, f)
	case err != nil:
		return fmt.Errorf("%w; is it running? gpumem serve --socket %s", err, f.socket)
	case !asJSON:
		_, err := std.out.WriteString(withoutNotes(answer.String()))
		return err
	}
	d, err := ttmetal.ReadDump(&answer)
	if err != nil {
		return err
	}
	if f.since != "" {
		before, err := readDump(f.since)
		if err != nil {
			return err
		}
		d.Since(before)
	}
	return printDump(std, f, d)
}

// printDump prints a dump that is at hand.
func printDump(std stdio, f dumpFlags, d *ttmetal.Dump) error {
	judged := judgedDump{Dump: d}
	if f.judge {
		judged.Findings = ttmetal.Judge(d, f.thresholds())
	}
	if f.json {
		return plain.WriteJSON(std.out, judged)
	}
	text := d.Text(f.six)
	if f.judge {
		text = append(text, findingsText(judged)...)
	}
	_, err := std.out.Write(text)
	return err
}

// readDumps reads dumps that were saved, oldest first. Of each but the oldest
// it leaves out what ended processes had left before the one before; of the
// oldest, what they had left before since, when that is not empty.
func readDumps(since string, paths []string) ([]*ttmetal.Dump, error) {
	first := 0
	if since != "" {
		paths, first = append([]string{since}, paths...), 1
	}
	all := make([]*ttmetal.Dump, len(paths))
	for i, path := range paths {
		var err error
		if all[i], err = readDump(path); err != nil {
			return nil, err
		}
	}
	for i := len(all) - 1; i > 0; i-- {
		all[i].Since(all[i-1])
	}
	return all[first:], nil
}

// readDump reads a dump that was saved.
func readDump(path string) (*ttmetal.Dump, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	d, err := ttmetal.ReadDump(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if d.Buffers == nil {
		return nil, fmt.Errorf("%s: it holds no buffers: it is not from gpumem serve", path)
	}
	return d, nil
}

// judgedDump is a dump with what the rules say of it.
type judgedDump struct {
	*ttmetal.Dump
	Findings []ttmetal.Finding `json:"findings,omitempty"`
}

// withoutNotes drops the lines by which the server frames a dump in its own
// output.
func withoutNotes(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "📋") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// foreignTotals shows the counters of a server that does not send its dump.
func foreignTotals(std stdio, f dumpFlags) error {
	devices, err := ttmetal.AskTotals(f.socket, books.ForeignDevices, f.wait)
	if err != nil {
		return err
	}
	fmt.Fprintln(std.err, "gpumem: the server prints the dump on its own output; these are its counters")
	if f.json {
		return plain.WriteJSON(std.out,
			judgedDump{Dump: &ttmetal.Dump{Schema: 1, Time: time.Now().UTC(), Active: -1, Devices: devices}})
	}
	for _, d := range devices {
		var all uint64
		for _, v := range d.Used {
			all += v
		}
		if all == 0 {
			continue
		}
		fmt.Fprintf(std.out, "Device %d:\n", d.Device)
		for c := ttmetal.CountDRAM; c <= ttmetal.CountTrace; c++ {
			fmt.Fprintf(std.out, "  %s: %s\n", c, plain.Size(int64(d.Used[c.String()])))
		}
	}
	return nil
}

func findingsText(d judgedDump) []byte {
	var b bytes.Buffer
	b.WriteString("Normal or leak (one dump cannot prove a leak; compare runs):\n")
	for _, f := range d.Findings {
		fmt.Fprintf(&b, "  %-7s  device %d  %s: %s, %s; %s\n", f.Level, f.Device, f.Rule,
			units.Counted(f.Count, "buffer", "buffers"), plain.Size(int64(f.Bytes)), f.Text)
	}
	if len(d.Findings) == 0 {
		b.WriteString("  normal   nothing remains\n")
	}
	if n := len(d.LeftByDead); n > 0 {
		fmt.Fprintf(&b, "  note     %s had not freed everything at the end; the system took it back\n",
			units.Counted(n, "ended process", "ended processes"))
	}
	return b.Bytes()
}

// runsAnswer is what the comparison of runs says.
type runsAnswer struct {
	Schema  int              `json:"schema"`
	Runs    []runTotals      `json:"runs"`
	Verdict *verdict.Verdict `json:"verdict"`
}

type runTotals struct {
	Path   string `json:"path"`
	Active int64  `json:"active"`
	Bytes  uint64 `json:"bytes"`
}

// compareDumps judges what remained after each of several runs.
func compareDumps(std stdio, f dumpFlags, paths []string) error {
	fails, err := option.ParseFailOn(f.failOn)
	if err != nil {
		return err
	}
	dumps, err := readDumps(f.since, paths)
	if err != nil {
		return err
	}
	var runs []runTotals
	for i, d := range dumps {
		count, size := d.Remaining()
		runs = append(runs, runTotals{paths[i], count, size})
	}
	v := judgeRuns(runs)
	if f.json {
		err = plain.WriteJSON(std.out, runsAnswer{1, runs, v})
	} else {
		err = writeRuns(std.out, runs, v)
	}
	if err == nil && fails.Code(v.Verdict) != exitDone {
		return &codeError{fails.Code(v.Verdict)}
	}
	return err
}

func writeRuns(w io.Writer, runs []runTotals, v *verdict.Verdict) error {
	var b strings.Builder
	for i, r := range runs {
		fmt.Fprintf(&b, "Run %d: %d active allocations, %s\n", i+1, r.Active, plain.Size(int64(r.Bytes)))
	}
	plain.Wrap(&b, "", "  ", v.Summary)
	_, err := io.WriteString(w, b.String())
	return err
}

// judgeRuns lets the verdict's engine decide: the first run is the baseline,
// because it fills caches, and each later one ends with everything released.
// One buffer more is a finding: the books are exact. Nothing on them is idle:
// what a program's pool keeps is reported as allocated.
func judgeRuns(runs []runTotals) *verdict.Verdict {
	const apart = 10_000 // ms between runs: long enough for marks to be told apart
	columns := []string{record.ColTime, record.ColLive, record.ColLiveCount, record.ColIdle}
	values := make([][]float64, len(columns))
	var events []record.Event
	for i, r := range runs {
		t := float64(i * apart)
		for c, x := range [...]float64{t, float64(r.Bytes), float64(r.Active), 0} {
			values[c] = append(values[c], x)
		}
		name := record.PhaseReleased
		if i == 0 {
			name = record.PhaseBaseline
		}
		events = append(events, record.Event{TMs: t, Kind: record.KindPhase, Name: name})
	}
	v := verdict.Judge(&record.Run{Samples: record.NewSamples(columns, values), Events: events},
		verdict.Options{LeftoverBytes: 1})
	v.Causes = nil // the engine's are of a program that says itself what it released
	v.Summary = runsSummary(runs, v)
	return v
}

// runsSummary says in a sentence what the comparison found.
func runsSummary(runs []runTotals, v *verdict.Verdict) string {
	first, last := runs[0], runs[len(runs)-1]
	n := int64(len(runs) - 1)
	head := string(v.Verdict)
	if v.Verdict != verdict.Undecided {
		head = fmt.Sprintf("%s (%s, %.0f %%)", v.Verdict, v.Tier, 100*v.Confidence)
	}
	if v.Verdict == verdict.None {
		return head + ": what remains does not grow from run to run."
	}
	return fmt.Sprintf("%s: what remains grew by %+.3g allocations and %s a run.", head,
		float64(last.Active-first.Active)/float64(n), plain.Size((int64(last.Bytes)-int64(first.Bytes))/n))
}

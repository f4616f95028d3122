package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
)

const (
	// topProcesses is how many processes text shows without --all.
	topProcesses = 20
	// shortBuild is how much of a version text shows.
	shortBuild = 8
	// falseDiscovery is the rate that verdict.Monitor holds.
	falseDiscovery = .05
)

// diagnosisText writes a diagnosis for people.
type diagnosisText struct {
	d       *diagnosis
	b       strings.Builder
	color   bool
	section int
}

// text is the whole answer.
func (d *diagnosis) text(color bool) string {
	t := &diagnosisText{d: d, color: color}
	t.banner()
	if d.watched != nil {
		t.verdicts()
	}
	if d.chosen {
		t.details()
		t.gpuMemory("GPU memory")
		t.notes()
		return t.b.String()
	}
	t.processes()
	t.title("Processes of the runtime (" + shown(strings.Join(d.flags.runtime, ", ")) + ")")
	t.list(pick(d.scan, func(p *scan.Process) bool { return namedAny(p, d.flags.runtime) }))
	t.title("Metal, GPU and MTL processes")
	t.list(gpuProcesses(d.scan))
	t.title("VSCode GPU helper processes")
	t.list(editorHelpers(d.scan))
	t.title("GPU memory")
	t.gpuMemory("")
	t.title("Machine")
	t.machine()
	if list := builds(d.scan); len(list) > 0 {
		t.title("Programs that run in several builds, the newest first")
		t.builds(list)
	}
	t.notes()
	return t.b.String()
}

func (t *diagnosisText) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

func (t *diagnosisText) bold(s string) string {
	if !t.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// title begins a numbered section.
func (t *diagnosisText) title(s string) {
	t.section++
	t.line("\n%s", t.bold(cut(fmt.Sprintf("%d. %s", t.section, s), lineWidth)))
}

func (t *diagnosisText) banner() {
	s := t.d.scan
	name := "GPU memory diagnosis"
	rest := fmt.Sprintf(" · %s · %s/%s · %s · %s in %s ms", shown(t.d.host), runtime.GOOS, runtime.GOARCH,
		s.At.UTC().Format("2006-01-02 15:04:05 UTC"), plural(len(s.Processes), "process", "processes"),
		digits3(float64(s.Elapsed.Microseconds())/1000))
	t.line("%s%s", t.bold(name), cut(rest, lineWidth-cellsOf(name)))
}

// processes is the list by memory.
func (t *diagnosisText) processes() {
	all := t.d.scan.Processes
	top := all
	head := "All processes by memory"
	if !t.d.flags.all {
		top = all[:min(len(all), topProcesses)]
		head = fmt.Sprintf("Top %d processes by memory", topProcesses)
		if len(all) > len(top) {
			head += fmt.Sprintf(" (of %d; --all shows every one)", len(all))
		}
	}
	t.title(head)
	t.list(top)
}

// list writes processes as a table, or that there are none.
func (t *diagnosisText) list(list []scan.Process) {
	if len(list) == 0 {
		t.line("  none")
		return
	}
	many := len(t.d.scan.Devices) > 1
	table := textTable{columns: []column{
		{"PID", true, 0}, {"OWNER", false, 8}, {"AGE", true, 0}, {"CPU %", true, 0}, {"MEM %", true, 0},
		{"FOOTPRINT", true, 0}, {"GPU", true, 0}, {"ON", false, 9}, {"GROWTH", true, 0}, {"VERDICT", false, 0},
		{"BUILD", false, 0}, {"COMMAND", false, 0},
	}}
	for i := range list {
		p := &list[i]
		row := []string{
			strconv.Itoa(p.PID), shown(p.Owner), ageText(p.Age), percentText(int64(p.CPU), int64(p.Age)),
			percentText(p.Footprint(), t.d.scan.Totals.Memory), sizeText(p.Footprint()), t.gpu(p), "", "", "",
			buildText(p), commandText(p) + stateText(p),
		}
		if many {
			row[7] = onText(p)
		}
		if t.d.watched != nil { // these say more than those
			row[1], row[3], row[4] = "", "", ""
			row[8], row[9] = t.observed(p)
		}
		table.add(row...)
	}
	table.write(&t.b, "  ")
}

// gpu is the GPU bytes of a process; empty where no source is here.
func (t *diagnosisText) gpu(p *scan.Process) string {
	if len(t.d.scan.Devices) == 0 {
		return ""
	}
	if b := p.GPUBytes(); b != 0 {
		return sizeText(b)
	}
	return "0"
}

// onText is the devices that hold something for a process.
func onText(p *scan.Process) string {
	var on []string
	for _, c := range p.GPU {
		on = append(on, strconv.Itoa(c.Device))
	}
	return strings.Join(on, ",")
}

func buildText(p *scan.Process) string {
	id := p.Version.ID
	if id == "" {
		return dash
	}
	return id[:min(len(id), shortBuild)]
}

// stateText is a process's state where it is out of the ordinary.
func stateText(p *scan.Process) string {
	switch {
	case p.State == scan.Zombie || p.State == scan.Stopped:
		return " (" + string(p.State) + ")"
	case p.Deleted:
		return " (executable replaced)"
	}
	return ""
}

// observed is the growth and the verdict of a process that was watched.
func (t *diagnosisText) observed(p *scan.Process) (growth, class string) {
	o := t.d.watched.on(p.PID, p.Start)
	if o == nil {
		return dash, dash
	}
	growth = "0"
	if rate, gpu := o.fastest(); rate != 0 {
		growth = rateText(rate)
		if gpu {
			growth += " GPU"
		}
	}
	return growth, o.class()
}

// class is the verdict in a word or two: growth may be certain although nobody
// can tell whose it is.
func (o *observed) class() string {
	if o.grows && o.verdict.Verdict == verdict.Undecided {
		return "grows, whose?"
	}
	return string(o.verdict.Verdict)
}

// summary is the verdict in a sentence: a growth without an owner is a fact all
// the same.
func (o *observed) summary() string {
	if d := unowned(o.verdict); d != nil {
		return unownedText(d) + "."
	}
	return o.verdict.Summary
}

// verdicts is what watching gave.
func (t *diagnosisText) verdicts() {
	o := t.d.watched
	growing, undecided := o.growing()
	none := len(o.of) - len(growing) - undecided
	t.line("")
	wrapped(&t.b, "", "", fmt.Sprintf("Watched %s for %s, a sample every %s: %s, %d undecided, %d without growth; %d ended meanwhile. "+
		"At most %.0f %% of those called growing are expected to be called so falsely.",
		plural(len(o.of), "process", "processes"), o.length.Round(100*time.Millisecond), o.interval,
		plural(len(growing), "grows", "grow"), undecided, none, o.ended, 100*falseDiscovery))
	for _, p := range growing {
		q := &p.process
		t.line("\n  %s", t.bold(cut(fmt.Sprintf("%s  PID %d  %s  build %s  %s  age %s", programName(q), q.PID,
			strings.TrimSpace(p.class()+" "+tierText(p.verdict)), buildText(q), shown(q.Owner), ageText(q.Age)), lineWidth-2)))
		wrapped(&t.b, "    ", "    ", p.summary())
		wrapped(&t.b, "    ", "    ", commandText(q))
		if unowned(p.verdict) != nil {
			wrapped(&t.b, "    next: ", "          ", unownedNext(q.PID, commandText(q)))
		}
	}
}

// machine is what the machine has left, and who is dead.
func (t *diagnosisText) machine() {
	s, m := t.d.scan, t.d.scan.Totals
	t.line("  memory   %s, %s available", sizeText(m.Memory), sizeText(m.Available))
	switch {
	case m.SwapTotal == 0:
		t.line("  swap     none")
	case m.SwapTotal == probe.Unknown || m.SwapFree == probe.Unknown:
		t.line("  swap     %s", dash)
	default:
		t.line("  swap     %s, %s used", sizeText(m.SwapTotal), sizeText(m.SwapTotal-m.SwapFree))
	}
	if m.CgroupLimit == probe.Unknown {
		t.line("  cgroup   no limit known")
	} else {
		t.line("  cgroup   %s limit, %s used", sizeText(m.CgroupLimit), sizeText(m.CgroupUsage))
	}
	const most = 10
	zombies := s.Zombies()
	if len(zombies) == 0 {
		t.line("  zombies  none")
		return
	}
	var list []string
	for _, z := range zombies[:min(len(zombies), most)] {
		list = append(list, fmt.Sprintf("%d (%s, parent %d)", z.PID, shown(z.Name), z.Parent))
	}
	if len(zombies) > most {
		list = append(list, fmt.Sprintf("and %d more", len(zombies)-most))
	}
	wrapped(&t.b, "  zombies  ", "           ", strings.Join(list, ", "))
}

// tierText is how sure a verdict is, where that says more than the verdict.
func tierText(v *verdict.Verdict) string {
	if v.Tier == verdict.TierUndecided {
		return ""
	}
	return string(v.Tier)
}

// builds is the programs that run in several builds.
func (t *diagnosisText) builds(list []build) {
	table := textTable{columns: []column{
		{"PROGRAM", false, 20}, {"BUILD", false, 0}, {"OF", false, 0}, {"PROCESSES", true, 0}, {"FOOTPRINT", true, 0},
		{"MEDIAN", true, 0}, {"GPU", true, 0}, {"GROWING", true, 0}, {"PIDS", false, 0},
	}}
	for _, b := range list {
		total, median := b.footprint()
		gpu, grow, pids := int64(0), 0, []string{}
		for i := range b.processes {
			p := &b.processes[i]
			pids = append(pids, strconv.Itoa(p.PID))
			if g := p.GPUBytes(); g != scan.Unknown {
				gpu += g
			}
			if o := t.d.watched.on(p.PID, p.Start); o != nil && o.grows {
				grow++
			}
		}
		row := []string{
			shown(b.program), b.version.ID, b.version.Modified.UTC().Format("2006-01-02"), strconv.Itoa(len(b.processes)),
			sizeText(total), sizeText(median), "", "", strings.Join(pids, " "),
		}
		if len(t.d.scan.Devices) > 0 {
			row[6] = sizeText(gpu)
		}
		if t.d.watched != nil {
			row[7] = strconv.Itoa(grow)
		}
		table.add(row...)
	}
	table.write(&t.b, "  ")
}

// notes are what could not be seen and what went wrong.
func (t *diagnosisText) notes() {
	s := t.d.scan
	var notes []string
	if s.Hidden > 0 {
		note := plural(s.Hidden, "process", "processes") + " may not be looked into (build and device files not known)"
		if os.Geteuid() != 0 {
			note += "; root sees all"
		}
		notes = append(notes, note)
	}
	if s.Unlisted {
		notes = append(notes, "the system does not list the processes of other users (hidepid): how many there are is not known")
	}
	notes = append(notes, s.Warnings...)
	if !t.d.chosen {
		notes = append(notes, toolingNotes(s)...)
	}
	if t.d.watched != nil {
		if t.d.watched.missed > 0 {
			notes = append(notes, plural(t.d.watched.missed, "process was", "processes were")+" not watched")
		}
		notes = append(notes, t.d.watched.warnings...)
	}
	notes = slices.Compact(notes)
	if len(notes) == 0 {
		return
	}
	t.line("")
	for _, n := range notes {
		wrapped(&t.b, "note: ", "      ", shown(n))
	}
}

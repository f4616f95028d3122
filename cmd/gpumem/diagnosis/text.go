package diagnosis

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
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

// page writes a diagnosis for people.
type page struct {
	d       *Diagnosis
	b       strings.Builder
	color   bool
	section int
}

// Text is the whole answer for people, with colour or without.
func (d *Diagnosis) Text(color bool) string {
	t := &page{d: d, color: color}
	t.banner()
	if d.Watched != nil {
		t.verdicts()
	}
	if d.Chosen {
		t.details()
		t.gpuMemory("GPU memory")
		t.notes()
		return t.b.String()
	}
	if d.Sections {
		t.sections()
	} else {
		t.operator()
	}
	t.notes()
	return t.b.String()
}

// sections are the five of the investigations, and what the machine has left.
func (t *page) sections() {
	d := t.d
	t.processes()
	t.title("Processes of the runtime (" + plain.Shown(strings.Join(d.Runtime, ", ")) + ")")
	t.list(pick(d.Scan, func(p *scan.Process) bool { return namedAny(p, d.Runtime) }))
	t.title("Metal, GPU and MTL processes")
	t.list(gpuProcesses(d.Scan))
	t.title("VSCode GPU helper processes")
	t.list(editorHelpers(d.Scan))
	t.title("GPU memory")
	t.gpuMemory("")
	t.title("Machine")
	t.machine()
	if list := builds(d.Scan); len(list) > 0 && d.Wide {
		t.title("Programs that run in several builds, the newest first")
		t.builds(list)
	}
}

func (t *page) line(format string, args ...any) { fmt.Fprintf(&t.b, format+"\n", args...) }

func (t *page) bold(s string) string {
	if !t.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// title begins a numbered section.
func (t *page) title(s string) {
	t.section++
	t.line("\n%s", t.bold(plain.Cut(fmt.Sprintf("%d. %s", t.section, s), plain.Width)))
}

func (t *page) banner() {
	s := t.d.Scan
	name := "GPU memory diagnosis"
	rest := fmt.Sprintf(" · %s · %s/%s · %s · %s in %s ms",
		plain.Shown(t.d.Host), runtime.GOOS, runtime.GOARCH,
		s.At.UTC().Format("2006-01-02 15:04:05 UTC"), units.Counted(len(s.Processes), "process", "processes"),
		units.Digits(float64(s.Elapsed.Microseconds())/1000))
	t.line("%s%s", t.bold(name), plain.Cut(rest, plain.Width-plain.Cells(name)))
}

// processes is the list by memory.
func (t *page) processes() {
	all := t.d.Scan.Processes
	top := all
	head := "All processes by memory"
	if !t.d.All {
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
func (t *page) list(list []scan.Process) {
	if len(list) == 0 {
		t.line("  none")
		return
	}
	many := len(t.d.Scan.Devices) > 1
	table := plain.NewTable(
		plain.Right("PID"), plain.Left("OWNER").AtMost(8), plain.Right("AGE"), plain.Right("GPU"),
		plain.Left("ON").AtMost(9), plain.Right("FOOTPRINT"), plain.Right("RSS"), plain.Right("MEM %"),
		plain.Right("CPU %"), plain.Right("GROWTH"), plain.Left("VERDICT"), plain.Left("BUILD"),
		plain.Left("COMMAND"),
	)
	for i := range list {
		table.Add(t.row(&list[i], many)...)
	}
	table.Write(&t.b, "  ")
}

// row is the cells of a process in a list.
func (t *page) row(p *scan.Process, many bool) []string {
	row := []string{
		strconv.Itoa(p.PID), plain.Shown(p.Owner), plain.Age(p.Age), t.gpu(p), "",
		plain.Size(p.Footprint()), "", plain.Percent(p.Footprint(), t.d.Scan.Totals.Memory),
		plain.Percent(int64(p.CPU), int64(p.Age)), "", "", "", naming.Command(p) + stateText(p),
	}
	if many {
		row[4] = onText(p)
	}
	if t.d.Sections { // the investigation's script has this one
		row[6] = plain.Size(p.Memory.RSS)
	}
	if t.d.Watched != nil { // these say more than those
		row[1], row[7], row[8] = "", "", ""
		row[9], row[10] = t.observed(p)
	}
	if t.d.Wide {
		row[11] = buildText(p)
	}
	return row
}

// gpu is the GPU bytes of a process; empty where no source is here.
func (t *page) gpu(p *scan.Process) string {
	if len(t.d.Scan.Devices) == 0 {
		return ""
	}
	if b := p.GPUBytes(); b != 0 {
		return plain.Size(b)
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
		return plain.Dash
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
func (t *page) observed(p *scan.Process) (growth, class string) {
	o := t.d.Watched.on(p.PID, p.Start)
	if o == nil {
		return plain.Dash, plain.Dash
	}
	growth = "0"
	if rate, gpu := o.fastest(); rate != 0 {
		growth = plain.Rate(rate)
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
		return "grows, owner unknown"
	}
	return string(o.verdict.Verdict)
}

// summary is the verdict in a sentence: a growth without an owner is a fact all
// the same.
func (o *observed) summary() string {
	if d := Unowned(o.verdict); d != nil {
		return UnownedText(d) + "."
	}
	if o.answer != "" {
		return plain.Shown(o.answer)
	}
	return o.verdict.Summary
}

// verdicts is what watching gave.
func (t *page) verdicts() {
	o := t.d.Watched
	growing, undecided := o.growing()
	none := len(o.of) - len(growing) - undecided
	t.line("")
	plain.Wrap(&t.b, "", "",
		fmt.Sprintf(
			"Watched %s for %s, a sample every %s: %s, %d undecided, %d without growth; %d ended meanwhile. "+
				"At most %.0f %% of those called growing are expected to be called so falsely.",
			units.Counted(len(o.of), "process", "processes"), o.length.Round(100*time.Millisecond),
			o.interval, units.Counted(len(growing), "grows", "grow"), undecided, none, o.ended,
			100*falseDiscovery))
	for _, p := range growing {
		q := &p.process
		built := ""
		if t.d.Wide {
			built = "build " + buildText(q) + "  "
		}
		t.line("\n  %s",
			t.bold(plain.Cut(fmt.Sprintf("%s  PID %d  %s  %s%s  age %s", naming.Program(q), q.PID,
				strings.TrimSpace(p.class()+" "+tierText(p.verdict)), built, plain.Shown(q.Owner),
				plain.Age(q.Age)), plain.Width-2)))
		plain.Wrap(&t.b, "    ", "    ", p.summary())
		plain.Wrap(&t.b, "    ", "    ", naming.Command(q))
		if Unowned(p.verdict) != nil {
			plain.Wrap(&t.b, "    next: ", "          ", unownedNext(q.PID, naming.Command(q)))
		} else if p.next != "" {
			plain.Wrap(&t.b, "    next: ", "          ", plain.Shown(p.next))
		}
	}
}

// tierText is how sure a verdict is, where that says more than the verdict.
func tierText(v *verdict.Verdict) string {
	if v.Tier == verdict.TierUndecided {
		return ""
	}
	return string(v.Tier)
}

// builds is the programs that run in several builds.
func (t *page) builds(list []build) {
	table := plain.NewTable(
		plain.Left("PROGRAM").AtMost(20), plain.Left("BUILD"), plain.Left("OF"), plain.Right("PROCESSES"),
		plain.Right("FOOTPRINT"),
		plain.Right("MEDIAN"), plain.Right("GPU"), plain.Right("GROWING"), plain.Left("PIDS"),
	)
	for _, b := range list {
		total, median := b.footprint()
		gpu, grow, pids := int64(0), 0, []string{}
		for i := range b.processes {
			p := &b.processes[i]
			pids = append(pids, strconv.Itoa(p.PID))
			if g := p.GPUBytes(); g != scan.Unknown {
				gpu += g
			}
			if o := t.d.Watched.on(p.PID, p.Start); o != nil && o.grows {
				grow++
			}
		}
		row := []string{
			plain.Shown(b.program), b.version.ID, b.version.Modified.UTC().Format("2006-01-02"),
			strconv.Itoa(len(b.processes)),
			plain.Size(total), plain.Size(median), "", "", strings.Join(pids, " "),
		}
		if len(t.d.Scan.Devices) > 0 {
			row[6] = plain.Size(gpu)
		}
		if t.d.Watched != nil {
			row[7] = strconv.Itoa(grow)
		}
		table.Add(row...)
	}
	table.Write(&t.b, "  ")
}

// notes are what could not be seen and what went wrong.
func (t *page) notes() {
	s := t.d.Scan
	var notes []string
	if s.Hidden > 0 {
		note := "gpumem may not look into " + units.Counted(s.Hidden, "process", "processes") +
			": what runs there and which devices are open are unknown"
		if os.Geteuid() != 0 {
			note += "; root sees them all"
		}
		notes = append(notes, note)
	}
	if s.Unlisted {
		notes = append(notes,
			"the system does not list the processes of other users (hidepid): "+
				"how many there are is not known")
	}
	notes = append(notes, s.Warnings...)
	if !t.d.Chosen {
		notes = append(notes, toolingNotes(s)...)
		if note := t.buildsNote(); note != "" {
			notes = append(notes, note)
		}
	}
	if t.d.Watched != nil {
		if t.d.Watched.missed > 0 {
			notes = append(notes, units.Counted(t.d.Watched.missed, "process was", "processes were")+
				" not watched")
		}
		notes = append(notes, t.d.Watched.warnings...)
	}
	notes = slices.Compact(notes)
	if len(notes) == 0 {
		return
	}
	t.line("")
	for _, n := range notes {
		plain.Wrap(&t.b, "note: ", "      ", plain.Shown(n))
	}
}

// toolingNotes says which processes run with such tools, the first few.
func toolingNotes(s *scan.Scan) []string {
	const most = 5
	var notes []string
	for i := range s.Processes {
		p := &s.Processes[i]
		if len(p.Tooling) > 0 && len(notes) < most {
			notes = append(notes,
				fmt.Sprintf("PID %d (%s) runs with %s; what that keeps is no leak of the program",
					p.PID, naming.Program(p), p.Tooling[0]))
		}
	}
	return notes
}

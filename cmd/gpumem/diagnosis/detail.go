package diagnosis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/scan"
)

// details describes the processes that the command line named.
func (t *page) details() {
	for i := range t.d.Scan.Processes {
		t.detail(&t.d.Scan.Processes[i])
	}
}

func (t *page) detail(p *scan.Process) {
	o := t.d.Watched.on(p.PID, p.Start)
	state := stateText(p)
	if o != nil && o.ended {
		state = " (ended)"
	}
	t.line("\n%s",
		t.bold(plain.Cut(fmt.Sprintf("PID %d  %s%s", p.PID, naming.Program(p), state), plain.Width)))
	fact := func(name, value string) {
		if value != "" {
			plain.Wrap(&t.b, fmt.Sprintf("  %-11s", name), strings.Repeat(" ", 13), value)
		}
	}
	about := t.d.known(p)
	fact("command", naming.Command(p))
	fact("executable", plain.Shown(p.Executable))
	version := p.Version.ID
	if !p.Version.Modified.IsZero() {
		version += "  of " + p.Version.Modified.UTC().Format("2006-01-02 15:04 UTC")
	}
	fact("build", version)
	fact("owner", plain.Shown(about.Owner))
	fact("age", fmt.Sprintf("%s, %s, %s, parent %d", plain.Age(p.Age), p.State,
		units.Counted(p.Threads, "thread", "threads"), p.Parent))
	t.detailAbout(&about, fact)
	m := p.Memory
	footprint := plain.Size(p.Footprint())
	if m.Peak != scan.Unknown {
		footprint += " (at most " + plain.Size(m.Peak) + ")"
	}
	fact("footprint", footprintText(footprint, &m))
	fact("file cache", t.fileCache(p))
	t.detailGPU(p, fact)
	for _, tool := range p.Tooling {
		fact("tooling", plain.Shown(tool.String())+"; what it keeps is no leak of the program")
	}
	if o != nil {
		growth, class := t.observed(p)
		fact("verdict", strings.TrimSpace(class+" "+tierText(o.verdict))+", growth "+growth)
		summary := o.verdict.Summary
		if o.answer != "" {
			summary = plain.Shown(o.answer)
		}
		fact("", summary)
	}
	if o == nil || !o.ended {
		t.detailMade(p, fact)
	}
}

// known is what is known of a process beyond its memory. What the scan says
// stands; the rest was asked for afterwards, when a later process may have had
// the pid.
func (d *Diagnosis) known(p *scan.Process) host.Process {
	about, ok := d.about[p.PID]
	if !ok || about.Parent != p.Parent {
		return host.Process{Owner: p.Owner, Parent: p.Parent, OpenFiles: host.Unknown}
	}
	if p.Owner != "" {
		about.Owner = p.Owner
	}
	return about
}

// detailAbout is when the process started, by whom, and what it has open.
func (t *page) detailAbout(about *host.Process, fact func(name, value string)) {
	if !about.Started.IsZero() {
		started := about.Started.Format("2006-01-02 15:04:05 UTC")
		if about.ParentName != "" {
			started += fmt.Sprintf(", by %d (%s)", about.Parent, plain.Shown(about.ParentName))
		}
		fact("started", started)
	}
	if about.OpenFiles != host.Unknown {
		fact("open files", strconv.FormatInt(about.OpenFiles, 10))
	}
	fact("cgroup", plain.Shown(about.Cgroup))
}

func (t *page) detailGPU(p *scan.Process, fact func(name, value string)) {
	if len(t.d.Scan.Devices) == 0 {
		return
	}
	if len(p.GPU) == 0 {
		fact("GPU", t.gpu(p))
	}
	for _, c := range p.GPU {
		text := fmt.Sprintf("%s on device %d", plain.Size(c.LocalBytes), c.Device)
		switch {
		case c.LocalBytes == scan.Unknown && c.HostBytes != scan.Unknown:
			text = fmt.Sprintf("%s of the host's memory on device %d", plain.Size(c.HostBytes), c.Device)
		case c.HostBytes != scan.Unknown:
			text += ", " + plain.Size(c.HostBytes) + " of the host"
		}
		if c.Clients > 0 {
			text += ", " + units.Counted(c.Clients, "client", "clients")
			if c.Busy >= 0 {
				text += ", busy for " + c.Busy.Round(time.Millisecond).String()
			}
		}
		if c.Shared {
			text += ", shared with other processes"
		}
		fact("GPU", text)
	}
}

// detailMade is what the memory is made of.
func (t *page) detailMade(p *scan.Process, fact func(name, value string)) {
	made, ok := t.d.made[p.PID]
	if !ok {
		return
	}
	if made.err != nil {
		fact("made of", plain.Dash+" ("+plain.Shown(made.err.Error())+")")
		return
	}
	const names = 3
	table := plain.NewTable(
		plain.Left("MADE OF"), plain.Right("RESIDENT"), plain.Right("SHARE"), plain.Right("SWAPPED"),
		plain.Left("MOST OF IT"),
	)
	for _, part := range made.parts() {
		var most []string
		for _, g := range part.groups[:min(len(part.groups), names)] {
			most = append(most, plain.Shown(naming.Base(g.Name))+" "+plain.Size(g.Usage.RSS))
		}
		table.Add(part.kind.String(), plain.Size(part.usage.RSS), plain.Size(part.usage.PSS),
			plain.Size(part.usage.Swap), strings.Join(most, ", "))
	}
	if !table.Empty() {
		table.Write(&t.b, "  ")
	}
	if made.report.Partial {
		fact("", plain.Shown(made.report.Reason))
	}
}

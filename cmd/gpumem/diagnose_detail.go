package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpumem/gpumem/probe/scan"
)

// details describes the processes that the command line named.
func (t *diagnosisText) details() {
	for i := range t.d.scan.Processes {
		t.detail(&t.d.scan.Processes[i])
	}
}

func (t *diagnosisText) detail(p *scan.Process) {
	o := t.d.watched.on(p.PID, p.Start)
	state := stateText(p)
	if o != nil && o.ended {
		state = " (ended)"
	}
	t.line("\n%s", t.bold(cut(fmt.Sprintf("PID %d  %s%s", p.PID, programName(p), state), lineWidth)))
	fact := func(name, value string) {
		if value != "" {
			wrapped(&t.b, fmt.Sprintf("  %-11s", name), strings.Repeat(" ", 13), value)
		}
	}
	fact("command", commandText(p))
	fact("executable", shown(p.Executable))
	version := p.Version.ID
	if !p.Version.Modified.IsZero() {
		version += "  of " + p.Version.Modified.UTC().Format("2006-01-02 15:04 UTC")
	}
	fact("build", version)
	fact("owner", shown(p.Owner))
	fact("age", fmt.Sprintf("%s, %s, %s, parent %d", ageText(p.Age), p.State, plural(p.Threads, "thread", "threads"), p.Parent))
	m := p.Memory
	footprint := sizeText(p.Footprint())
	if m.Peak != scan.Unknown {
		footprint += " (at most " + sizeText(m.Peak) + ")"
	}
	fact("footprint", fmt.Sprintf("%s: anonymous %s, files %s, shared %s, swapped %s",
		footprint, sizeText(m.Anon), sizeText(m.File), sizeText(m.Shmem), sizeText(m.Swap)))
	t.detailGPU(p, fact)
	for _, tool := range p.Tooling {
		fact("tooling", shown(tool.String())+"; what it keeps is no leak of the program")
	}
	if o != nil {
		growth, class := t.observed(p)
		fact("verdict", strings.TrimSpace(class+" "+tierText(o.verdict))+", growth "+growth)
		fact("", o.verdict.Summary)
	}
	if o == nil || !o.ended {
		t.detailMade(p, fact)
	}
}

func (t *diagnosisText) detailGPU(p *scan.Process, fact func(name, value string)) {
	if len(t.d.scan.Devices) == 0 {
		return
	}
	if len(p.GPU) == 0 {
		fact("GPU", t.gpu(p))
	}
	for _, c := range p.GPU {
		text := fmt.Sprintf("%s on device %d", sizeText(c.LocalBytes), c.Device)
		switch {
		case c.LocalBytes == scan.Unknown && c.HostBytes != scan.Unknown:
			text = fmt.Sprintf("%s of the host's memory on device %d", sizeText(c.HostBytes), c.Device)
		case c.HostBytes != scan.Unknown:
			text += ", " + sizeText(c.HostBytes) + " of the host"
		}
		if c.Clients > 0 {
			text += ", " + plural(c.Clients, "client", "clients")
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
func (t *diagnosisText) detailMade(p *scan.Process, fact func(name, value string)) {
	made, ok := t.d.made[p.PID]
	if !ok {
		return
	}
	if made.err != nil {
		fact("made of", dash+" ("+shown(made.err.Error())+")")
		return
	}
	const names = 3
	table := textTable{columns: []column{
		{"MADE OF", false, 0}, {"RESIDENT", true, 0}, {"SHARE", true, 0}, {"SWAPPED", true, 0}, {"MOST OF IT", false, 0},
	}}
	for _, part := range made.parts() {
		var most []string
		for _, g := range part.groups[:min(len(part.groups), names)] {
			most = append(most, shown(baseName(g.Name))+" "+sizeText(g.Usage.RSS))
		}
		table.add(part.kind.String(), sizeText(part.usage.RSS), sizeText(part.usage.PSS), sizeText(part.usage.Swap), strings.Join(most, ", "))
	}
	if len(table.rows) > 0 {
		table.write(&t.b, "  ")
	}
	if made.report.Partial {
		fact("", shown(made.report.Reason))
	}
}

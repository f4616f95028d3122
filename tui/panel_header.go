package tui

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// headerPanel is the two lines at the top.
type headerPanel struct {
	*styles
	frame   *Frame
	paused  bool
	message string
}

// stateMarks tell the states apart without colour.
var stateMarks = map[State]string{Waiting: "○", Recording: "●", Watching: "●", Silent: "○", Playing: "▶",
	Ended: "✓"}

// Render implements the panel: program, pid and device; then time, step and
// how well the sampling goes.
func (p headerPanel) Render(w, h int) string {
	lines := []string{fit(p.first(w), w), fit(p.second(w), w)}
	return strings.Join(lines[:min(h, len(lines))], "\n")
}

func (p headerPanel) first(w int) string {
	f := p.frame
	left := p.paint(title, "gpumem") + " " + p.paint(strong, f.program())
	facts := p.facts()
	line := strings.Join(facts, " · ")
	for len(facts) > 1 && width(line) > w/2 && width(line)+width(left)+2 > w {
		facts = facts[:len(facts)-1]
		line = strings.Join(facts, " · ")
	}
	left = cut(left, w-width(line)-2)
	return left + blanks(w-width(left)-width(line)) + p.paint(dim, line)
}

// program is what runs, as typed.
func (f *Frame) program() string {
	if f.Name != "" {
		return clean(f.Name)
	}
	return clean(strings.TrimPrefix(strings.Join(f.Meta.Command, " "), "gpumem run "))
}

// facts are what is known of the process, the most important first: those at
// the end go when there is no room.
func (p headerPanel) facts() []string {
	f, out := p.frame, []string(nil)
	pid := f.View.PID
	if pid == 0 {
		pid = f.Meta.PID
	}
	if pid != 0 {
		text := fmt.Sprintf("PID %d", pid)
		if f.Chosen >= 0 && f.Processes[f.Chosen].Gone && !f.Done {
			text += " (ended)"
		}
		out = append(out, text)
	}
	device := "device " + clean(f.Meta.Device)
	if f.Meta.Device == "" {
		device = "no device"
	}
	if f.View.Device != AllDevices {
		device += fmt.Sprintf(" (@%d of %d)", f.View.Device, len(f.Devices))
	} else if n := len(f.Devices); n > 1 {
		device += fmt.Sprintf(" (all %d)", n)
	}
	out = append(out, device)
	if f.Meta.UnifiedMemory != nil && *f.Meta.UnifiedMemory {
		out = append(out, "unified memory")
	}
	return out
}

func (p headerPanel) second(w int) string {
	f := p.frame
	t := good
	switch f.State {
	case Silent, Waiting:
		t = warn
	case Ended, Playing:
		t = dim
	}
	state := string(f.State)
	if f.State == Ended {
		state = endText(&f.Meta)
	}
	mark := stateMarks[f.State]
	if f.State == Ended && (f.Meta.Signal != "" || f.Meta.ExitCode != nil && *f.Meta.ExitCode != 0) {
		mark, t = "×", warn
	}
	parts := []string{p.paint(t, mark+" "+state)}
	if p.paused {
		parts = append(parts, p.paint(warn, "⏸ screen paused"))
	}
	if f.Play != nil && f.State != Ended {
		parts = append(parts, playText(f.Play))
	}
	parts = append(parts, clockText(f.ElapsedMs, f.ElapsedMs < 600e3))
	if known(f.Step) {
		step := "step " + units.Whole(f.Step)
		if known(f.StepRate) && !f.Done {
			step += " (" + units.Whole(f.StepRate) + "/s)"
		}
		parts = append(parts, step)
	}
	if f.Phase != "" {
		parts = append(parts, "phase "+f.Phase)
	}
	parts = append(parts, p.sampling()...)
	line := strings.Join(parts, p.paint(dim, " · "))
	if p.message != "" {
		return p.paint(hotkey, cut(p.message, w))
	}
	return line
}

// sampling is the health in a few words; what is well is left out.
func (p headerPanel) sampling() []string {
	f, out := p.frame, []string(nil)
	rows := units.Whole(float64(f.Rows)) + " samples"
	if known(f.RowRate) && !f.Done {
		rows += " (" + units.Whole(f.RowRate) + "/s)"
	}
	out = append(out, rows)
	if f.Health.Missed > 0 {
		out = append(out, p.paint(warn, units.Whole(f.Health.Missed)+" missed"))
	}
	if f.Health.LostRows > 0 {
		out = append(out, p.paint(bad, units.Whole(f.Health.LostRows)+" lost"))
	}
	if f.State == Silent {
		out = append(out, p.paint(warn, "no sample for "+units.Seconds(f.Health.SilentFor.Seconds())))
	}
	if f.Health.Fault != "" {
		out = append(out, p.paint(bad, f.Health.Fault))
	}
	return out
}

func playText(p *Playback) string {
	switch {
	case p.Loading:
		return "reading"
	case p.Speed == 0:
		return "held, of " + clockText(p.LengthMs, p.LengthMs < 600e3)
	}
	return fmt.Sprintf("×%s, of %s", units.Digits(p.Speed), clockText(p.LengthMs, p.LengthMs < 600e3))
}

// endText is how the program ended.
func endText(m *record.Meta) string {
	switch {
	case m.Signal != "":
		return "ended by " + m.Signal
	case m.ExitCode != nil:
		return fmt.Sprintf("ended, exit code %d", *m.ExitCode)
	}
	return "ended"
}

package tui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// question is what the footer asks; each answer is a key.
type question struct {
	text    string
	answers []answer
}

// no is what becomes of it without an answer.
func (q *question) no() string {
	if len(q.answers) == 1 {
		return "no"
	}
	return "stay"
}

type answer struct {
	key, what string
	short     string // what, where there is little room
	do        func() tea.Cmd
}

// press takes a key. Keys that came together, typed fast or over a slow line,
// are one message of several runes; a paste is no keys.
func (m *Model) press(k tea.KeyMsg) tea.Cmd {
	if k.Type == tea.KeyRunes && len(k.Runes) > 1 && m.filter == nil {
		if k.Paste {
			return nil
		}
		var cmds []tea.Cmd
		for _, r := range k.Runes {
			cmds = append(cmds, m.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt}))
		}
		return tea.Sequence(cmds...)
	}
	switch {
	case m.ask != nil:
		return m.answer(k)
	case m.filter != nil:
		m.typed(k, m.frame)
		return nil
	case m.help:
		return m.pressHelp(k)
	}
	m.message = ""
	for _, b := range m.actions() {
		if key.Matches(k, b.binding) {
			return b.do()
		}
	}
	if key.Matches(k, m.keys.Panel) {
		m.focus = m.o.panel(panelID(k.String()[0] - '1'))
	}
	return nil
}

// action is what a key does.
type action struct {
	binding key.Binding
	do      func() tea.Cmd
}

// then makes an action of a change that needs no command.
func then(change func()) func() tea.Cmd {
	return func() tea.Cmd { change(); return nil }
}

// actions are all keys, one line each.
func (m *Model) actions() []action {
	k := &m.keys
	return []action{
		{k.Quit, m.quit},
		{k.Help, then(func() { m.help, m.helpLine = true, 0 })},
		{k.Pause, m.pause},
		{k.Next, then(func() { m.focus = m.o.after(m.focus, 1) })},
		{k.Previous, then(func() { m.focus = m.o.after(m.focus, -1) })},
		{k.Maximise, then(func() { m.maximised = !m.maximised })},
		{k.Clear, m.clear},
		{k.Up, then(func() { m.move(-1) })},
		{k.Down, then(func() { m.move(1) })},
		{k.PageUp, then(func() { m.move(-m.page()) })},
		{k.PageDown, then(func() { m.move(m.page()) })},
		{k.Top, then(func() { m.move(-math.MaxInt32) })},
		{k.Bottom, then(func() { m.move(math.MaxInt32) })},
		{k.Enter, m.enter},
		{k.ZoomIn, func() tea.Cmd { return m.zoom(.5) }},
		{k.ZoomOut, func() tea.Cmd { return m.zoom(2) }},
		{k.Whole, func() tea.Cmd { m.view.SpanMs, m.view.ToMs = 0, math.NaN(); return m.look() }},
		{k.Earlier, func() tea.Cmd { return m.shift(-.25) }},
		{k.Later, func() tea.Cmd { return m.shift(.25) }},
		{k.Restart, m.toStart},
		{k.ToEnd, m.toEnd},
		{k.Slower, func() tea.Cmd { return m.pace(.5) }},
		{k.Faster, func() tea.Cmd { return m.pace(2) }},
		{k.Mark, m.mark},
		{k.Compare, m.compareMark},
		{k.Report, m.report},
		{k.Snapshot, m.snapshot},
		{k.Collect, func() tea.Cmd { return m.experiment(record.ActionCollect, "collect its garbage") }},
		{k.Purge, func() tea.Cmd { return m.experiment(record.ActionPurge, "purge its pool") }},
		{k.Trim, func() tea.Cmd { return m.experiment(record.ActionTrim, "trim its heap") }},
		{k.Survivors, m.survivors},
		{k.NextProcess, func() tea.Cmd { return m.choose(1) }},
		{k.PreviousProcess, func() tea.Cmd { return m.choose(-1) }},
		{k.Device, m.nextDevice},
		{k.Sort, then(func() { m.order.by = (m.order.by + 1) % sortCount })},
		{k.Reverse, then(func() { m.order.reverse = !m.order.reverse })},
		{k.Filter, then(func() { text := m.order.filter; m.filter, m.focus = &text, panelProcesses })},
		{k.Kill, m.terminate},
		{k.Suspend, func() tea.Cmd { return suspend }},
	}
}

// answer takes the key for a question.
func (m *Model) answer(k tea.KeyMsg) tea.Cmd {
	for _, a := range m.ask.answers {
		if k.String() == a.key {
			m.ask = nil
			return a.do()
		}
	}
	if key.Matches(k, m.keys.Clear) || k.String() == "n" || k.String() == "ctrl+c" {
		m.ask = nil
	}
	return nil
}

func (m *Model) pressHelp(k tea.KeyMsg) tea.Cmd {
	switch {
	case key.Matches(k, m.keys.Down):
		m.helpLine++
	case key.Matches(k, m.keys.PageDown):
		m.helpLine += max(m.h/2, 1)
	case key.Matches(k, m.keys.Up):
		m.helpLine = max(m.helpLine-1, 0)
	case key.Matches(k, m.keys.PageUp):
		m.helpLine = max(m.helpLine-max(m.h/2, 1), 0)
	case key.Matches(k, m.keys.Quit, m.keys.Help, m.keys.Clear, m.keys.Enter):
		m.help = false
	}
	return nil
}

// clear takes back what was opened last.
func (m *Model) clear() tea.Cmd {
	switch {
	case m.maximised:
		m.maximised = false
	case m.order.filter != "":
		m.order.filter = ""
	case m.view.SpanMs != 0:
		m.view.SpanMs, m.view.ToMs = 0, math.NaN()
		return m.look()
	case m.compare:
		m.compare = false
	}
	return nil
}

// quit leaves at once when there is nothing to decide.
func (m *Model) quit() tea.Cmd {
	if m.o.Control.End == nil || m.frame.Done {
		m.closing = true
		return tea.Quit
	}
	leave := func(what func()) func() tea.Cmd {
		return func() tea.Cmd {
			m.closing = true
			return tea.Sequence(func() tea.Msg { what(); return nil }, tea.Quit)
		}
	}
	m.ask = &question{"It still runs.", []answer{
		{"e", "end it", "end", leave(m.o.Control.End)},
		{"l", "leave it running, stop recording", "leave", leave(m.o.Control.Leave)},
		{"d", "go on without the screen", "no screen", leave(func() {})},
	}}
	return nil
}

// pause holds a playback, else the screen; recording goes on.
func (m *Model) pause() tea.Cmd {
	if m.o.Player == nil {
		m.paused = !m.paused
		if m.frame.Done && m.o.CloseAtEnd && !m.paused {
			return tea.Quit
		}
		return m.next()
	}
	if p := m.frame.Play; p != nil && p.Speed != 0 {
		m.speed = p.Speed
		m.o.Player.SetSpeed(0)
	} else {
		m.o.Player.SetSpeed(m.speed)
	}
	return nil
}

// pace changes the speed of a playback.
func (m *Model) pace(factor float64) tea.Cmd {
	if m.o.Player == nil {
		return m.say("the speed is for playbacks; this run is live")
	}
	if p := m.frame.Play; p != nil && p.Speed != 0 {
		m.speed = p.Speed
	}
	m.speed = math.Min(math.Max(m.speed*factor, slowest), fastest)
	if p := m.frame.Play; p == nil || p.Speed != 0 { // a held one stays held
		m.o.Player.SetSpeed(m.speed)
	}
	return m.say("speed ×" + units.Digits(m.speed))
}

func (m *Model) toStart() tea.Cmd {
	if m.o.Player != nil {
		m.o.Player.Seek(0)
		return nil
	}
	if m.view.SpanMs > 0 {
		m.view.ToMs = m.view.SpanMs
		return m.look()
	}
	return nil
}

func (m *Model) toEnd() tea.Cmd {
	m.view.ToMs = math.NaN()
	if m.o.Player != nil {
		m.o.Player.Seek(math.Inf(1))
	}
	return m.look()
}

// zoom makes the window shorter or longer; one that reaches the latest stays
// there.
func (m *Model) zoom(factor float64) tea.Cmd {
	length := m.frame.Chart.LengthMs
	span := m.view.SpanMs
	if span == 0 {
		span = length
	}
	if span = math.Max(span*factor, 10); !known(span) {
		return nil
	}
	if span >= length && factor > 1 {
		span, m.view.ToMs = 0, math.NaN()
	}
	m.view.SpanMs = span
	return m.look()
}

// shift moves the window by a part of its length.
func (m *Model) shift(part float64) tea.Cmd {
	if m.view.SpanMs == 0 {
		return m.say("all time is on the screen; zoom in first (+)")
	}
	to, length := m.view.ToMs, m.frame.Chart.LengthMs
	if !known(to) {
		to = length
	}
	to = math.Max(to+part*m.view.SpanMs, m.view.SpanMs)
	if to >= length {
		to = math.NaN()
	}
	m.view.ToMs = to
	return m.look()
}

func (m *Model) mark() tea.Cmd {
	m.marks++
	name := fmt.Sprintf("mark %d", m.marks)
	at := clockText(m.frame.ElapsedMs, true)
	source, write := m.o.Source, m.o.Control.Mark
	return do(func() (string, error) {
		if marker, ok := source.(Marker); ok {
			marker.Mark(name)
		}
		if write != nil {
			if err := write(name); err != nil {
				return "", fmt.Errorf("%s is on the screen only: %w", name, err)
			}
		}
		return fmt.Sprintf("%s at %s; M compares with it", name, at), nil
	})
}

func (m *Model) compareMark() tea.Cmd {
	if m.frame.Mark == nil && m.marks == 0 { // one just made comes with the next frame
		return m.say("nothing is marked; m marks a point")
	}
	m.compare = !m.compare
	return nil
}

func (m *Model) report() tea.Cmd {
	write := m.o.Control.Report
	if write == nil {
		return m.say("there is no run folder to report on")
	}
	return tea.Batch(m.say("writing the report"), do(func() (string, error) {
		path, err := write()
		return "report written: " + path, err
	}))
}

func (m *Model) snapshot() tea.Cmd {
	save := m.o.Control.Save
	if save == nil {
		return m.say("there is no place for a snapshot")
	}
	text := m.text()
	return do(func() (string, error) {
		path, err := save(text)
		return "screen saved: " + path, err
	})
}

// offers reports whether the program does an action now.
func (m *Model) offers(action string) bool {
	return m.o.Control.Experiment != nil && m.o.Control.Actions != nil && !m.frame.Done &&
		slices.Contains(m.o.Control.Actions(), action)
}

// experiment has the program do an action; a foreign one only after a yes.
func (m *Model) experiment(action, what string) tea.Cmd {
	if !m.offers(action) {
		return m.say("the program does not offer to " + action)
	}
	run := func() tea.Cmd {
		return tea.Batch(m.say(action+" …"), do(func() (string, error) {
			receipt, err := m.o.Control.Experiment(action)
			return receiptSaid(action, receipt), err
		}))
	}
	if !m.o.Control.Foreign {
		return run()
	}
	m.ask = &question{fmt.Sprintf("Have the program %s?", what), []answer{{"y", "yes", "yes", run}}}
	return nil
}

// survivors asks for sites, holders and what live memory is made of, as far as they
// are offered.
func (m *Model) survivors() tea.Cmd {
	var wanted []string
	for _, a := range [...]string{record.ActionComposition, record.ActionSites, record.ActionHolders} {
		if m.offers(a) {
			wanted = append(wanted, a)
		}
	}
	if wanted == nil {
		return m.say("the program does not offer its sites or holders")
	}
	if m.focus != panelComposition {
		m.focus = panelSites
	}
	experiment := m.o.Control.Experiment
	return do(func() (string, error) {
		for _, a := range wanted {
			if _, err := experiment(a); err != nil {
				return "", err
			}
		}
		return "told: " + strings.Join(wanted, ", "), nil
	})
}

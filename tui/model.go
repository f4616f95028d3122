package tui

import (
	"context"
	"math"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/gpumem/gpumem/tracer/record"
)

// Options are what a screen is made of.
type Options struct {
	Source Source
	// Player steers Source when it is a playback; nil otherwise.
	Player  Player
	Control Control
	Looks   Appearance
	// CloseAtEnd ends the screen with the run, unless it is paused then.
	CloseAtEnd bool
	// Greeting is said first, and stays until a key is pressed.
	Greeting string
	// Processes gives the list of processes the focus at the start.
	Processes bool
	// Over, when set, is closed when the run has ended: from then on a terminal
	// that accepts no output is not waited for.
	Over <-chan struct{}
	// Held, when set, is told when the screen takes the terminal and when it has
	// given it back, also for the time it is stopped.
	Held func(bool)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// reachable is how many panels have a number. The last is the machine's devices where
// processes are watched, else what the live memory of a run is made of.
const reachable = panelComposition + 1

// panel is the panel of a number.
func (o *Options) panel(n panelID) panelID {
	if n == panelComposition && o.Processes {
		return panelDevices
	}
	return n
}

// after is the panel n numbers after another, from the last on to the first.
func (o *Options) after(id panelID, n panelID) panelID {
	return o.panel((min(id, panelComposition) + reachable + n) % reachable)
}

// Model is the one Bubble Tea model. Its methods are called by Bubble Tea, from
// one goroutine.
type Model struct {
	o      Options
	ctx    context.Context
	styles *styles
	keys   keyMap
	w, h   int
	frame  *Frame
	places []place

	listing
	paused    bool
	waiting   bool // a command waits for a frame
	focus     panelID
	maximised bool
	help      bool
	helpLine  int
	view      View
	scroll    [panelCount]int
	compare   bool
	marks     int
	speed     float64 // of a playback that is held
	ask       *question
	message   string
	messageN  int
	drawing   drawing
	closing   bool
}

// drawing is what drawing costs.
type drawing struct{ last time.Duration }

// Messages of the model.
type (
	frameMsg struct {
		frame *Frame
		err   error
	}
	saidMsg  struct{ text string }
	quietMsg struct{ n int }
)

// New makes a model. ctx ends its waiting for frames.
func New(ctx context.Context, o Options) *Model {
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Model{o: o, ctx: ctx, styles: newStyles(o.Looks), keys: newKeyMap(), view: WholeView(60), speed: 1}
	if o.Processes {
		m.focus = panelProcesses
	}
	m.message = clean(o.Greeting)
	m.frame = &Frame{
		State: Waiting, Chosen: -1, Step: math.NaN(), StepRate: math.NaN(), RowRate: math.NaN(), View: m.view,
		Now: unknownValues(), Start: unknownValues(), Marked: unknownValues(), Pool: unknownPool(),
		Health: Health{CPU: math.NaN(), RSS: math.NaN(), Missed: math.NaN(), LostRows: math.NaN()},
	}
	return m
}

// Init implements tea.Model.
func (m *Model) Init() tea.Cmd { return m.next() }

// next waits for a frame, unless a command does already.
func (m *Model) next() tea.Cmd {
	if m.waiting {
		return nil
	}
	m.waiting = true
	return func() tea.Msg {
		f, err := m.o.Source.Next(m.ctx)
		return frameMsg{f, err}
	}
}

// Update implements tea.Model. It never waits: what may take time is in the
// commands it returns.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		return m, m.resize(msg.Width, msg.Height)
	case frameMsg:
		return m, m.take(msg)
	case tea.KeyMsg:
		return m, m.press(msg)
	case tea.MouseMsg:
		return m, m.mouse(msg)
	case saidMsg:
		return m, m.say(msg.text)
	case quietMsg:
		if msg.n == m.messageN {
			m.message = ""
		}
	case tea.ResumeMsg:
		return m, tea.Batch(tea.EnableMouseCellMotion, tea.ClearScreen)
	}
	return m, nil
}

// resize takes a new size and asks for a chart of as many columns.
func (m *Model) resize(w, h int) tea.Cmd {
	m.w, m.h = w, h
	m.view.Columns = max(2*w, 40) // the panel squeezes them to its own width
	return m.look()
}

// look says what the next frames should be of.
func (m *Model) look() tea.Cmd {
	m.o.Source.Look(m.view)
	return m.next()
}

// take takes a frame. A paused screen takes only the chart that was asked for.
func (m *Model) take(msg frameMsg) tea.Cmd {
	m.waiting = false
	if msg.err != nil {
		if m.ctx.Err() == nil {
			m.message = msg.err.Error()
		}
		return nil
	}
	if m.paused {
		f := *m.frame
		if msg.frame.View.PID == f.View.PID {
			f.Chart, f.View = msg.frame.Chart, msg.frame.View
		}
		m.frame = &f
		return nil
	}
	m.frame = msg.frame
	if m.selected == 0 && m.frame.Chosen >= 0 {
		m.selected = m.frame.Processes[m.frame.Chosen].PID
	}
	if m.frame.Done && m.o.CloseAtEnd {
		m.closing = true
		return tea.Quit
	}
	return m.next()
}

// say shows a message for some seconds.
func (m *Model) say(text string) tea.Cmd {
	m.message = clean(text)
	m.messageN++
	n := m.messageN
	return tea.Tick(6*time.Second, func(time.Time) tea.Msg { return quietMsg{n} })
}

// do runs what may take time and shows what it says.
func do(work func() (string, error)) tea.Cmd {
	return func() tea.Msg {
		text, err := work()
		if err != nil {
			return saidMsg{err.Error()}
		}
		return saidMsg{text}
	}
}

// receiptSaid is a receipt as a message.
func receiptSaid(action string, r *record.Receipt) string {
	if r == nil {
		return action + " is done"
	}
	return "receipt: " + receiptText(r)
}

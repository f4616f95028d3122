package tui

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestNoKeyWaitsForTheSource(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 120, 40)
	feed := m.o.Source.(*Feed)
	feed.mu.Lock() // a source that hangs: a key that waited would never come back
	defer feed.mu.Unlock()
	for _, b := range everyBinding(&m.keys) {
		for _, k := range b.Keys() {
			m.ask, m.filter, m.help = nil, nil, false
			m.Update(keyOf(k))
			m.View()
		}
	}
	m.Update(tea.WindowSizeMsg{Width: 90, Height: 30})
	m.View()
}

// everyBinding are the bindings of the map, by reflection, so that none can be
// left out.
func everyBinding(k *keyMap) map[string]key.Binding {
	out := map[string]key.Binding{}
	v := reflect.ValueOf(*k)
	for i := range v.NumField() {
		out[v.Type().Field(i).Name] = v.Field(i).Interface().(key.Binding)
	}
	return out
}

// keyOf is the message of a key by its name.
func keyOf(name string) tea.KeyMsg {
	for t := tea.KeyType(-150); t < 150; t++ {
		if t != tea.KeyRunes && (tea.KeyMsg{Type: t}).String() == name {
			return tea.KeyMsg{Type: t}
		}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

func TestEveryKeyHasHelpAndDoesSomething(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 120, 40)
	helped := map[string]bool{}
	for _, g := range m.keys.groups() {
		for _, b := range g.keys {
			helped[b.Help().Key+b.Help().Desc] = true
		}
	}
	used := map[string]string{}
	for name, b := range everyBinding(&m.keys) {
		if !helped[b.Help().Key+b.Help().Desc] {
			t.Errorf("%s is not in the help", name)
		}
		acts := name == "Panel"
		for _, a := range m.actions() {
			acts = acts || reflect.DeepEqual(a.binding.Keys(), b.Keys())
		}
		if !acts {
			t.Errorf("%s does nothing", name)
		}
		for _, k := range b.Keys() {
			if other := used[k]; other != "" {
				t.Errorf("%q is both %s and %s", k, name, other)
			}
			used[k] = name
		}
	}
}

// keysForTest presses keys by their names.
func (m *Model) keysForTest(names ...string) {
	for _, n := range names {
		m.Update(keyOf(n))
	}
}

func TestKeysDoWhatTheHelpSays(t *testing.T) {
	t.Parallel()
	cases := []struct {
		keys []string
		want func(*Model) bool
	}{
		{[]string{"?"}, func(m *Model) bool { return m.help }},
		{[]string{"?", "q"}, func(m *Model) bool { return !m.help && !m.closing }},
		{[]string{"q"}, func(m *Model) bool { return m.ask != nil && len(m.ask.answers) == 3 }},
		{[]string{"q", "esc"}, func(m *Model) bool { return m.ask == nil && !m.closing }},
		{[]string{"q", "e"}, func(m *Model) bool { return m.closing }},
		{[]string{"tab", "tab"}, func(m *Model) bool { return m.focus == panelProcesses }},
		{[]string{"shift+tab"}, func(m *Model) bool { return m.focus == panelComposition }},
		{[]string{"6"}, func(m *Model) bool { return m.focus == panelEvents }},
		{[]string{"z"}, func(m *Model) bool { return m.maximised }},
		{[]string{" "}, func(m *Model) bool { return m.paused }},
		{[]string{"+", "+"}, func(m *Model) bool { return near(m.view.SpanMs, 29950./4) }},
		{[]string{"+", "left"}, func(m *Model) bool { return known(m.view.ToMs) && m.view.ToMs < 29950 }},
		{[]string{"+", "left", "right"}, func(m *Model) bool { return !known(m.view.ToMs) }},
		{[]string{"+", "0"}, func(m *Model) bool { return m.view.SpanMs == 0 }},
		{[]string{"left"}, func(m *Model) bool { return strings.Contains(m.message, "zoom in") }},
		{[]string{"3", "j", "enter"}, func(m *Model) bool { return m.selected == 4712 && m.view.PID == 4712 }},
		{[]string{"n"}, func(m *Model) bool { return m.view.PID == 4712 }},
		{[]string{"N"}, func(m *Model) bool { return m.view.PID == 4713 }},
		{[]string{"o", "O"}, func(m *Model) bool { return m.order.by == byGrowth && m.order.reverse }},
		{[]string{"/", "4", "7", "1", "2", "enter"}, func(m *Model) bool {
			return m.order.filter == "4712" &&
				len(m.order.list(m.frame)) == 1
		}},
		{[]string{"/", "x", "backspace", "y", "esc"},
			func(m *Model) bool { return m.order.filter == "" && m.filter == nil }},
		{[]string{"M"}, func(m *Model) bool { return m.compare }},
		{[]string{"6", "up", "up", "down"}, func(m *Model) bool { return m.scroll[panelEvents] == 1 }},
		{[]string{"2", "G", "g"}, func(m *Model) bool { return m.scroll[panelVerdict] == 0 }},
		{[]string{"]"}, func(m *Model) bool { return strings.Contains(m.message, "playback") }},
		{[]string{"d"}, func(m *Model) bool { return strings.Contains(m.message, "no second device") }},
		{[]string{"w"}, func(m *Model) bool { return strings.Contains(m.message, "no run folder") }},
		{[]string{"c"}, func(m *Model) bool { return m.ask == nil && strings.Contains(m.message, "collect") }},
		{[]string{"r"}, func(m *Model) bool { return m.focus == panelSites }},
	}
	for _, c := range cases {
		m := leakModel(t, Appearance{}, 120, 40)
		m.keysForTest(c.keys...)
		if !c.want(m) {
			t.Errorf("keys %q: not what was to come of them (message %q, focus %d, view %+v)", c.keys, m.message,
				m.focus, m.view)
		}
	}
}

func TestKeysTypedFastAreKeysAndAPasteIsNone(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 120, 40)
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("z6")})
	if !m.maximised || m.focus != panelEvents {
		t.Error("keys that came together were lost")
	}
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("qe"), Paste: true})
	if m.ask != nil || m.closing {
		t.Error("pasted text acted as keys")
	}
}

func TestAForeignProgramIsAskedForFirst(t *testing.T) {
	t.Parallel()
	var done []string
	m := leakModel(t, Appearance{}, 120, 40)
	m.o.Control.Foreign = true
	m.o.Control.Experiment = func(action string) (*record.Receipt, error) {
		done = append(done, action)
		return &record.Receipt{Action: action, ClaimedBytes: pointer(int64(mib))}, nil
	}
	_, cmd := m.Update(keyOf("p"))
	if cmd != nil || m.ask == nil {
		t.Fatal("a purge of a foreign program was not asked about")
	}
	_, cmd = m.Update(keyOf("y"))
	said := runAll(cmd)
	if len(done) != 1 || done[0] != "purge" || !strings.Contains(said, "claimed 1 MiB") {
		t.Errorf("done %v, said %q; want one purge and its receipt", done, said)
	}
	m.Update(keyOf("c"))
	m.Update(keyOf("n"))
	if len(done) != 1 || m.ask != nil {
		t.Errorf("done %v after a no", done)
	}
}

// runAll runs a command and those in it, except ticks, and returns what was
// said.
func runAll(cmd tea.Cmd) string {
	if cmd == nil {
		return ""
	}
	said := make(chan tea.Msg, 1)
	go func() { said <- cmd() }()
	select {
	case msg := <-said:
		switch msg := msg.(type) {
		case tea.BatchMsg:
			text := ""
			for _, c := range msg {
				text += runAll(c)
			}
			return text
		case saidMsg:
			return msg.text
		}
	case <-time.After(2 * time.Second): // a tick
	}
	return ""
}

func TestAPausedScreenStaysAsItIsAndItsChartMoves(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 120, 40)
	before := m.frame.Rows
	m.keysForTest(" ")
	m.o.Source.(*Feed).Row(0, 40000, leakRow(800))
	v := WholeView(100)
	v.SpanMs = 1000
	m.o.Source.Look(v)
	fr, err := m.o.Source.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.take(frameMsg{frame: fr})
	if m.frame.Rows != before || m.frame.Chart.FromMs != 39000 {
		t.Errorf("rows %d (before %d), chart from %v; want the rows of the pause and the new window", m.frame.Rows,
			before, m.frame.Chart.FromMs)
	}
}

func TestClickingChoosesAndTheWheelScrolls(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 200, 60)
	m.View()
	var list, events place
	for _, p := range m.places {
		switch p.panel {
		case panelProcesses:
			list = p
		case panelEvents:
			events = p
		}
	}
	click := tea.MouseMsg{X: list.x + 3, Y: list.y + 3, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress}
	m.Update(click)
	m.Update(click)
	if m.focus != panelProcesses || m.selected != 4712 || m.view.PID != 4712 {
		t.Errorf("focus %d, selected %d, shown %d; want the second process", m.focus, m.selected, m.view.PID)
	}
	m.Update(tea.MouseMsg{X: events.x + 1, Y: events.y + 1, Button: tea.MouseButtonWheelUp,
		Action: tea.MouseActionPress})
	if m.scroll[panelEvents] != 3 || m.focus != panelProcesses {
		t.Errorf("events are scrolled by %d, focus %d", m.scroll[panelEvents], m.focus)
	}
}

func TestLooksFollowTheEnvironment(t *testing.T) {
	t.Parallel()
	cases := []struct {
		env  string
		want Appearance
	}{
		{"TERM=xterm LANG=C.UTF-8", Appearance{Colors: Colors16}},
		{"TERM=xterm-256color LC_ALL=de_DE.utf8", Appearance{Colors: Colors256}},
		{"TERM=xterm-256color COLORTERM=truecolor LANG=C.UTF-8", Appearance{Colors: TrueColors}},
		{"TERM=xterm-256color COLORTERM=truecolor LANG=C.UTF-8 NO_COLOR=1", Appearance{}},
		{"TERM=dumb LANG=C.UTF-8", Appearance{ASCII: true}},
		{"TERM=xterm LANG=C", Appearance{Colors: Colors16, ASCII: true}},
		{"TERM=xterm LANG=C.UTF-8 LC_ALL=POSIX", Appearance{Colors: Colors16, ASCII: true}},
		{"TERM=xterm LANG=C.UTF-8 COLORFGBG=0;15", Appearance{Colors: Colors16, Light: true}},
		{"TERM=xterm LANG=C.UTF-8 COLORFGBG=15;0", Appearance{Colors: Colors16}},
		{"TERM=vt100 LANG=C.UTF-8", Appearance{}},
	}
	for _, c := range cases {
		env := map[string]string{}
		for _, e := range strings.Fields(c.env) {
			k, v, _ := strings.Cut(e, "=")
			env[k] = v
		}
		if got := AppearanceOf(func(k string) string { return env[k] }); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.env, got, c.want)
		}
	}
}

func TestWhatAskedTerminalsAnswerIsNoKey(t *testing.T) {
	t.Parallel()
	late := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("]11;rgb:0000/0000/0000"), Alt: true}
	if dropReports(nil, late) != nil {
		t.Error("a late answer of the terminal would act as keys")
	}
	if k := keyOf("q"); dropReports(nil, k) == nil {
		t.Error("a key was dropped")
	}
}

func FuzzPicturesKeepTheirWidth(f *testing.F) {
	f.Add("訓練\x1b[2J", "e\u0301 👩‍💻", 60, 20)
	f.Fuzz(func(t *testing.T, name, line string, w, h int) {
		if w < 20 || w > 300 || h < 5 || h > 100 {
			return
		}
		feed := NewFeed(FeedOptions{Name: name, Now: newFixedClock().Now})
		feed.Row(1, 0, leakRow(0))
		feed.Name(1, name)
		feed.Output(true, line)
		feed.Event(record.Event{Kind: line, Name: name, Text: line})
		m := New(context.Background(), Options{Source: feed, Now: newFixedClock().Now})
		m.resize(w, h)
		feed.mu.Lock()
		m.frame = feed.frame(time.Time{})
		feed.mu.Unlock()
		m.focus = panelID(w+h) % panelCount // one panel at a time: a picture is costly
		checkPicture(t, "fuzzed", m.View(), w, h)
	})
}

func TestAQuestionShowsAllItsKeysWhateverTheWidth(t *testing.T) {
	t.Parallel()
	for _, w := range []int{60, 80, 120} {
		m := leakModel(t, Appearance{}, w, 24)
		m.Update(keyOf("q"))
		line := footerPanel{m.styles, &m.keys, m.ask, m.filter, false, false, true, true}.Render(m.w, 1)
		for _, want := range []string{" e ", " l ", " d ", " esc stay"} {
			if !strings.Contains(line, want) {
				t.Errorf("at %d columns %q lacks %q", w, line, want)
			}
		}
		if ansi.StringWidth(line) > w {
			t.Errorf("at %d columns the question is wider: %q", w, line)
		}
	}
}

func TestTheGreetingStaysUntilAKeyIsPressed(t *testing.T) {
	t.Parallel()
	f, clock := leakFeed(true)
	m := New(t.Context(), Options{Source: f, Now: clock.Now, Greeting: "No recording goes on."})
	m.resize(80, 24)
	f.mu.Lock()
	fr := f.frame(clock.now)
	f.mu.Unlock()
	m.take(frameMsg{frame: fr})
	if !strings.Contains(m.View(), "No recording goes on.") {
		t.Errorf("no greeting on\n%s", m.View())
	}
	m.keysForTest("2")
	if strings.Contains(m.View(), "No recording goes on.") {
		t.Errorf("the greeting is still on\n%s", m.View())
	}
}

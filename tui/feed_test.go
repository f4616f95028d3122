package tui

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func hostValues(x float64) *values {
	v := unknownValues()
	v[seriesHost] = x
	return &v
}

func TestAPeakOfOneRowSurvivesEveryHalving(t *testing.T) {
	t.Parallel()
	h := newHistory(64)
	for i := range 100_000 {
		x := 1.
		if i == 31_337 {
			x = 999
		}
		h.add(float64(i), hostValues(x))
	}
	if len(h.buckets) > 64 {
		t.Errorf("%d buckets are kept of at most 64", len(h.buckets))
	}
	for _, n := range []int{1, 7, 60, 500} {
		peak := 0.
		for _, v := range h.columns(0, 99_999, n) {
			peak = math.Max(peak, v[seriesHost])
		}
		if peak != 999 {
			t.Errorf("the highest of %d columns is %v, want the peak of 999", n, peak)
		}
	}
}

func TestColumnsKnowNothingOfTimesWithoutRows(t *testing.T) {
	t.Parallel()
	h := newHistory(16)
	h.add(100, hostValues(1))
	h.add(200, hostValues(2))
	got := h.columns(0, 400, 8)
	for i, want := range []float64{math.NaN(), math.NaN(), 1, 1, 2, math.NaN(), math.NaN(), math.NaN()} {
		if x := got[i][seriesHost]; x != want && !(math.IsNaN(x) && math.IsNaN(want)) {
			t.Errorf("column %d is %v, want %v", i, x, want)
		}
	}
}

func TestHistoriesKeepOrderAndSpanWhateverComes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		h, n, at, most := newHistory(2+r.IntN(30)), r.IntN(400), 0., 0.
		for range n {
			at += r.Float64() * 10
			x := r.Float64() * 100
			most = math.Max(most, x)
			h.add(at, hostValues(x))
		}
		peak := 0.
		for i, b := range h.buckets {
			if b.from > b.to || i > 0 && b.from < h.buckets[i-1].to {
				t.Fatalf("bucket %d is out of order: %+v", i, h.buckets)
			}
			peak = math.Max(peak, b.height)
		}
		if len(h.buckets) > h.most || n > 0 && (peak != most || h.buckets[len(h.buckets)-1].to != at) {
			t.Fatalf("%d rows: %d buckets of %d, peak %v of %v, end %v", n, len(h.buckets), h.most, peak, most, at)
		}
	}
}

func TestADayAtTwentyHertzTakesNoMoreThanAnHour(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.SetMeta(record.Meta{PID: 1})
	size := func() int {
		p := f.procs[1]
		n := cap(p.all.history.buckets) * int(reflect.TypeOf(bucket{}).Size())
		for _, v := range p.rows.values {
			n += 8 * cap(v)
		}
		return n + cap(f.events)*int(reflect.TypeOf(record.Event{}).Size()) + cap(f.output)*40
	}
	cells := []record.Cell{{Column: record.ColFootprint, Value: 1}, {Column: record.ColStep, Value: 1}}
	hour := 0
	for i := range 24 * 3600 * 20 {
		cells[0].Value = int64(i)
		f.Row(0, float64(i)*50, cells)
		if i%200 == 0 {
			f.Event(record.Event{TMs: float64(i) * 50, Kind: record.KindScope})
			f.Output(false, "line")
		}
		if i == 3600*20 {
			hour = size()
		}
	}
	if day := size(); day > hour+hour/10 {
		t.Errorf("a day takes %d bytes, an hour %d", day, hour)
	}
}

func TestUnknownIsNeverZero(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.Row(7, 0, []record.Cell{{Column: record.ColRSS, Value: 5}})
	f.mu.Lock()
	fr := f.frame(time.Now())
	f.mu.Unlock()
	for _, s := range []series{seriesLive, seriesIdle, seriesUntracked, seriesGPU} {
		if known(fr.Now[s]) {
			t.Errorf("series %d is %v though nobody measured it", s, fr.Now[s])
		}
	}
	text := accountsPanel{newStyles(Appearance{}), fr, false, false}.Render(100, 20)
	for _, name := range []string{"live", "idle", "untracked"} {
		for line := range strings.Lines(text) {
			if strings.Contains(line, " "+name+" ") && strings.Contains(line, "0 B") {
				t.Errorf("%q shows a zero", line)
			}
		}
	}
}

func TestDevicesHaveLedgersAndASum(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.SetMeta(record.Meta{PID: 7})
	f.Row(0, 0, []record.Cell{{Column: "gpu_bytes@0", Value: 10}, {Column: "gpu_bytes@1", Value: 32}, {Column: record.ColFootprint, Value: 1000}})
	look := func(device int) *Frame {
		v := WholeView(10)
		v.Device = device
		f.Look(v)
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.frame(time.Now())
	}
	for device, want := range map[int]float64{AllDevices: 42, 0: 10, 1: 32, 5: 42} {
		fr := look(device)
		if fr.Now[seriesGPU] != want || fr.Now[seriesFootprint] != 1000 || len(fr.Devices) != 2 {
			t.Errorf("device %d: GPU %v, footprint %v, devices %v; want GPU %v", device, fr.Now[seriesGPU], fr.Now[seriesFootprint], fr.Devices, want)
		}
	}
}

func TestOnUnifiedMemoryHostIsWhatTheDeviceDoesNotHold(t *testing.T) {
	t.Parallel()
	for unified, want := range map[bool]float64{true: 600, false: 1000} {
		f := NewFeed(FeedOptions{Now: newFixedClock().Now})
		f.SetMeta(record.Meta{PID: 7, UnifiedMemory: &unified})
		f.Row(0, 0, []record.Cell{{Column: record.ColGPU, Value: 400}, {Column: record.ColFootprint, Value: 1000}})
		f.Row(0, 1, []record.Cell{{Column: record.ColFootprint, Value: 1001}}) // a row of the timer, without the agent's word
		f.mu.Lock()
		fr := f.frame(time.Now())
		f.mu.Unlock()
		if got := fr.Now[seriesHost]; got != want && !(got == 1001 && !unified) {
			t.Errorf("unified %v: host is %v, want %v", unified, got, want)
		}
	}
}

func TestTheMonitorRaisesAlarmsOfManyAndJudgeLooksAtTheChosen(t *testing.T) {
	t.Parallel()
	clock := newFixedClock()
	f := NewFeed(FeedOptions{Now: clock.Now, State: Watching})
	for i := range 600 {
		for pid := 1; pid <= 12; pid++ {
			bytes := int64(50 * mib)
			if pid == 5 || pid == 9 {
				bytes += int64(i) * mib / 4
			}
			bytes += int64((i*7919+pid*104729)%97) << 10
			f.Row(pid, float64(i)*1000, []record.Cell{{Column: record.ColRSS, Value: bytes}, {Column: record.ColFootprint, Value: bytes}})
		}
		if i%20 == 0 {
			clock.now = clock.now.Add(time.Minute)
			f.judgeChosen()
			f.judgeOthers()
		}
	}
	f.mu.Lock()
	fr := f.frame(clock.now)
	f.mu.Unlock()
	for _, p := range fr.Processes {
		grows := p.Judged.Verdict != nil && p.Judged.Verdict.Verdict != verdict.None
		if want := p.PID == 5 || p.PID == 9; grows != want {
			t.Errorf("process %d: growing %v, want %v (%+v)", p.PID, grows, want, p.Judged.Verdict)
		}
	}
}

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

// keys presses keys by name and runs what they command, one level deep.
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
		{[]string{"shift+tab"}, func(m *Model) bool { return m.focus == panelHealth }},
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
		{[]string{"/", "4", "7", "1", "2", "enter"}, func(m *Model) bool { return m.order.filter == "4712" && len(m.order.list(m.frame)) == 1 }},
		{[]string{"/", "x", "backspace", "y", "esc"}, func(m *Model) bool { return m.order.filter == "" && m.filter == nil }},
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
			t.Errorf("keys %q: not what was to come of them (message %q, focus %d, view %+v)", c.keys, m.message, m.focus, m.view)
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

func TestAPausedScreenCountsTheFramesItDidNotTake(t *testing.T) {
	t.Parallel()
	clock := newFixedClock()
	f := NewFeed(FeedOptions{Now: clock.Now})
	f.Row(1, 0, leakRow(0))
	next := func() *Frame {
		f.due()
		fr, err := f.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return fr
	}
	next()
	clock.now = clock.now.Add(11 * frameEvery)
	if fr := next(); fr.Skipped != 10 {
		t.Errorf("%d frames are said to be skipped, want 10", fr.Skipped)
	}
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
		t.Errorf("rows %d (before %d), chart from %v; want the rows of the pause and the new window", m.frame.Rows, before, m.frame.Chart.FromMs)
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
	m.Update(tea.MouseMsg{X: events.x + 1, Y: events.y + 1, Button: tea.MouseButtonWheelUp, Action: tea.MouseActionPress})
	if m.scroll[panelEvents] != 3 || m.focus != panelProcesses {
		t.Errorf("events are scrolled by %d, focus %d", m.scroll[panelEvents], m.focus)
	}
}

func TestTextOfProgramsCannotMoveTheCursor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\tb\nc": "a b c", "\x1b[2J": "·[2J", "a\u202eb": "ab", "\x9b31m": "\ufffd31m", "\u009b31m": "·31m",
		"é": "é", "e\u0301": "e\u0301", "訓練": "訓練", "👩\u200d💻": "👩💻", "x\xff": "x\ufffd",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
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

func TestAFolderBeingWrittenIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	w, err := record.Create(dir, record.Meta{PID: 42, Start: time.Now()}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := OpenFolder(dir, FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if folder.Player() != nil {
		t.Fatal("a run that goes on is played back")
	}
	for i := range 50 {
		cells := leakRow(i)
		if i < 25 {
			cells = cells[:3] // columns that come later make the file be replaced
		}
		if err := w.Sample(record.Row{T: time.Duration(i) * time.Millisecond, Cells: cells}); err != nil {
			t.Fatal(err)
		}
		if i == 24 {
			waitFor(t, folder, "the first 25 rows", func(f *Frame) bool { return f.Rows == 25 })
		}
	}
	if err := os.WriteFile(filepath.Join(dir, record.FileStderr), []byte("a complaint\nhalf a line"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := waitFor(t, folder, "all rows and the output", func(f *Frame) bool { return f.Rows >= 50 && len(f.Output) == 1 })
	if f.Rows != 50 || f.Done || f.Output[0] != (OutputLine{true, "a complaint"}) || f.Processes[0].PID != 42 {
		t.Errorf("%d rows, done %v, output %+v, process %+v", f.Rows, f.Done, f.Output, f.Processes[0].PID)
	}
	now := time.Now()
	if err := w.UpdateMeta(func(m *record.Meta) { m.End = &now }); err != nil {
		t.Fatal(err)
	}
	w.Close()
	waitFor(t, folder, "the end", func(f *Frame) bool { return f.Done && f.State == Ended })
}

func TestAFinishedRunIsPlayedHeldSoughtAndRewound(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	writeRun(t, dir, 400, true)
	folder, err := OpenFolder(dir, FolderOptions{Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	p := folder.Player()
	if p == nil {
		t.Fatal("a finished run is not played back")
	}
	p.SetSpeed(0)
	held := waitFor(t, folder, "a held playback", func(f *Frame) bool { return f.Play != nil && !f.Play.Loading && f.Play.Speed == 0 })
	if held.Done || held.Rows >= 400 {
		t.Errorf("held at %d of 400 rows, done %v", held.Rows, held.Done)
	}
	p.Seek(math.Inf(1))
	waitFor(t, folder, "all rows and a verdict", func(f *Frame) bool { return f.Done && f.Rows == 400 && f.Judged.Verdict != nil && len(f.Sites) == 2 })
	p.Seek(1000)
	back := waitFor(t, folder, "an earlier time", func(f *Frame) bool { return !f.Done })
	if back.Rows != 21 || back.ElapsedMs != 1000 || len(back.Sites) != 0 {
		t.Errorf("at 1,000 ms: %d rows, %v ms, %d sites; want 21, 1000, none", back.Rows, back.ElapsedMs, len(back.Sites))
	}
	p.SetSpeed(fastest)
	waitFor(t, folder, "the end again", func(f *Frame) bool { return f.Done && f.Rows == 400 })
}

func TestABareCSVIsPlayedAndNoRunIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	if err := os.WriteFile(path, []byte("t_ms,rss_bytes\n0,1048576\n100,2097152\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	folder, err := OpenFolder(path, FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	folder.Player().Seek(math.Inf(1))
	f := waitFor(t, folder, "both rows", func(f *Frame) bool { return f.Rows == 2 })
	if f.Now[seriesRSS] != 2*mib {
		t.Errorf("the last row is %v", f.Now[seriesRSS])
	}
	for _, bad := range []string{dir, filepath.Join(dir, "absent")} {
		if _, err := OpenFolder(bad, FolderOptions{}); err == nil {
			t.Errorf("%s was opened", bad)
		}
	}
}

func TestAFollowerSeesEveryLineOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	f := newFollower(path)
	defer f.close()
	var got []string
	read := func() {
		for {
			more, err := f.read(func(line []byte, first bool) { got = append(got, fmt.Sprintf("%s %v", line, first)) })
			if err != nil {
				t.Fatal(err)
			}
			if !more {
				return
			}
		}
	}
	write := func(flag int, text string) {
		file, err := os.OpenFile(path, flag|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	read() // not there yet
	write(os.O_APPEND, "a,b\r\n1,2\n3,")
	read()
	write(os.O_APPEND, "4\n")
	read()
	if err := os.WriteFile(path+"2", []byte("a,b,c\n1,2,\n3,4,\n5,6,7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"2", path); err != nil {
		t.Fatal(err)
	}
	read()
	write(os.O_APPEND, strings.Repeat("x", 2*longestLine)+"\n8,9,10\n")
	read()
	want := []string{"a,b true", "1,2 false", "3,4 false", "a,b,c true", "5,6,7 false", "8,9,10 false"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d lines, want %q", len(got), want)
	}
}

func FuzzSampleLines(f *testing.F) {
	f.Add([]byte("t_ms,pid,rss_bytes"), []byte("1.5,42,4096"))
	f.Add([]byte("\xef\xbb\xbf\"t_ms\",\"a,b\""), []byte(",,"))
	f.Add([]byte("rss_bytes"), []byte("1"))
	f.Fuzz(func(t *testing.T, header, line []byte) {
		if bytes.ContainsAny(header, "\n") || bytes.ContainsAny(line, "\n") {
			return
		}
		var s sampleLines
		s.header(header)
		_, at, cells, ok := s.row(line)
		if ok == math.IsNaN(at) {
			t.Fatalf("time %v, ok %v", at, ok)
		}
		for _, c := range cells {
			if c.Column == "" || c.Column == record.ColTime {
				t.Fatalf("cell %+v is none", c)
			}
		}
	})
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
		for m.focus = range panelCount {
			checkPicture(t, "fuzzed", m.View(), w, h)
		}
	})
}

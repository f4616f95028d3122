package tui

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestADayAtTwentyHertzTakesNoMoreThanAnHour(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.SetMeta(record.Meta{PID: 1})
	size := func() int {
		p := f.of(1)
		n := cap(p.all.history.buckets) * int(reflect.TypeOf(bucket{}).Size())
		for _, name := range p.Rows().Names() {
			n += 8 * cap(p.Rows().Column(name))
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

func TestADayOfManyProcessesTakesNoMoreThanItsFirstHours(t *testing.T) {
	const processes, every = 10, 4 // seconds: a day fills all that is kept of a process
	clock := newFixedClock()
	f := NewFeed(FeedOptions{Now: clock.Now, State: Watching})
	cells := []record.Cell{{Column: record.ColRSS}, {Column: record.ColFootprint}}
	early := uint64(0)
	for second := 0; second < 24*3600; second += every {
		for pid := 1; pid <= processes; pid++ {
			cells[0].Value, cells[1].Value = int64(pid+second%97)<<20, int64(pid+second%89)<<20
			f.Row(pid, float64(second)*1000, cells)
		}
		clock.now = clock.now.Add(every * time.Second)
		if second%600 == 0 {
			f.live.Look()
		}
		if second == 19*3600 { // all is full by then
			early = heapInUse()
		}
	}
	// Other tests' garbage may have been there at the first look.
	if late := heapInUse(); late > early+early/10 {
		t.Errorf("after 19 hours %d KiB are in use, after 24 %d KiB", early>>10, late>>10)
	}
	runtime.KeepAlive(f)
}

func TestProcessesThatHaveEndedGiveWayToThoseThatRun(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.SetMeta(record.Meta{PID: 1, IntervalMs: 1000})
	cells := []record.Cell{{Column: record.ColRSS, Value: 1}}
	at := 0.0
	for pid := 2; pid < 2000; pid++ { // each for a second, beside one that is silent
		if pid == 2 {
			f.Row(1, at, cells)
		}
		at += 1000
		f.Row(pid, at, cells)
	}
	f.mu.Lock()
	fr := f.frame(time.Now())
	f.mu.Unlock()
	if n := len(fr.Processes); n > keptEnded+10 {
		t.Errorf("%d processes are kept", n)
	}
	if fr.Processes[0].PID != 1 || fr.Processes[0].Gone {
		t.Errorf("the program itself is gone: %+v", fr.Processes[0])
	}
	if last := fr.Processes[len(fr.Processes)-1]; last.PID != 1999 || last.Gone {
		t.Errorf("the latest is %d, gone %v", last.PID, last.Gone)
	}
	if !fr.Processes[1].Gone {
		t.Error("none counts as ended")
	}
	if list := (order{by: byMemory}).list(fr); !list[len(list)-1].Gone || list[0].Gone {
		t.Error("those that have ended do not come last")
	}
}

func TestALauncherThatBecomesItsProgramIsCalledAfterIt(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now, NameOf: func(int) string { return "pyenv-exec" }})
	f.SetMeta(record.Meta{PID: 7})
	f.Event(record.Event{TMs: 1, PID: 8, Kind: record.KindProcess, Name: "python3 -m loader"}) // before its first row
	for pid := 7; pid <= 8; pid++ {
		f.Row(pid, 2, []record.Cell{{Column: record.ColRSS, Value: 1}})
	}
	f.Event(record.Event{TMs: 3, PID: 7, Kind: record.KindProcess, Name: "python3 train.py"})
	f.mu.Lock()
	fr := f.frame(time.Now())
	f.mu.Unlock()
	if len(fr.Processes) != 2 || fr.Processes[0].Name != "python3 train.py" ||
		fr.Processes[1].Name != "python3 -m loader" {
		t.Errorf("processes %+v", fr.Processes)
	}
}

func TestARecordingsRowsBelongToItsProcessAlsoBeforeItIsKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start := time.Now().Add(time.Minute).Format(time.RFC3339) // not to be taken for one that has no process
	write(record.FileMeta, `{"start":"`+start+`"}`)
	write(record.FileSamples, "t_ms,pid,rss_bytes\n1,,5\n2,77,6\n3,78,7\n")
	f, err := OpenFolder(dir, FolderOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	time.Sleep(3 * followEvery) // it may look; what it must not do is take a row
	write(record.FileMeta, `{"start":"`+start+`","pid":77}`)
	fr := waitFor(t, f, "both processes", func(f *Frame) bool { return f.Rows == 3 })
	if len(fr.Processes) != 2 || fr.Processes[0].PID != 77 || fr.Processes[1].PID != 78 {
		t.Errorf("processes %+v", fr.Processes)
	}
}

func TestThePoolPanelShowsTheClassesThatKeepMost(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.SetMeta(record.Meta{PID: 7})
	f.Row(7, 0, leakRow(0))
	f.Event(record.Event{Kind: record.KindEvent, Name: "pool", Detail: []byte(`{"classes":[
		{"class":"4 KiB","bytes":4096,"live":3,"idle":2,"hits":10,"misses":3},
		{"class":"1 MiB","bytes":1048576,"idle":30,"max_idle":-1},{"class":"?"}]}`)})
	f.mu.Lock()
	fr := f.frame(time.Now())
	f.mu.Unlock()
	text := poolPanel{newStyles(Appearance{}), fr, false}.Render(100, 20)
	checkPicture(t, "pool", text, 100, 20)
	for _, want := range []string{`1 MiB +– +30 +30.0 MiB +none +– +–`, `4 KiB +3 +2 +8 KiB +– +10 +3`,
		`\? +– +– +– +– +– +–`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "1 MiB ") > strings.Index(text, "4 KiB ") {
		t.Errorf("the class that keeps most is not first:\n%s", text)
	}
	if fr.Events[0].Detail != nil {
		t.Error("the detail is kept twice")
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
	f.Row(0, 0, []record.Cell{{Column: "gpu_bytes@0", Value: 10}, {Column: "gpu_bytes@1", Value: 32},
		{Column: record.ColFootprint, Value: 1000}})
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
			t.Errorf("device %d: GPU %v, footprint %v, devices %v; want GPU %v", device, fr.Now[seriesGPU],
				fr.Now[seriesFootprint], fr.Devices, want)
		}
	}
}

func TestOnUnifiedMemoryHostIsWhatTheDeviceDoesNotHold(t *testing.T) {
	t.Parallel()
	// The accounts sum to the footprint of each row, also of one that lacks the device's bytes.
	for unified, want := range map[bool]float64{true: 601, false: 1001} {
		f := NewFeed(FeedOptions{Now: newFixedClock().Now})
		f.SetMeta(record.Meta{PID: 7, UnifiedMemory: &unified})
		f.Row(0, 0, []record.Cell{{Column: record.ColGPU, Value: 400}, {Column: record.ColFootprint, Value: 1000}})
		f.Row(0, 1, []record.Cell{{Column: record.ColFootprint, Value: 1001}}) // a row of the timer, without the agent's word
		f.mu.Lock()
		fr := f.frame(time.Now())
		f.mu.Unlock()
		if got := fr.Now[seriesHost]; got != want {
			t.Errorf("unified %v: host is %v, want %v", unified, got, want)
		}
	}
}

func TestHostIsUnknownWhereTheDevicesBytesAreNotAllResident(t *testing.T) {
	t.Parallel()
	f := NewFeed(FeedOptions{Now: newFixedClock().Now})
	f.SetMeta(record.Meta{PID: 7, UnifiedMemory: pointer(true)})
	for i, gpu := range []int64{400, 1200} { // reserved, not touched
		f.Row(0, float64(i), []record.Cell{{Column: record.ColGPU, Value: gpu},
			{Column: record.ColFootprint, Value: 1000}})
	}
	f.mu.Lock()
	fr := f.frame(time.Now())
	f.mu.Unlock()
	if got := fr.Now[seriesHost]; known(got) {
		t.Errorf("host is %v", got)
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
			f.Row(pid, float64(i)*1000, []record.Cell{{Column: record.ColRSS, Value: bytes},
				{Column: record.ColFootprint, Value: bytes}})
		}
		if i%20 == 0 {
			clock.now = clock.now.Add(time.Minute)
			f.live.Look()
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

func TestARateIsNeverNegative(t *testing.T) {
	t.Parallel()
	at := newFixedClock().now
	var m meter
	for i, count := range []float64{0, 500, 1000, 3, 400} {
		if rate := m.read(at.Add(time.Duration(i)*time.Second), count); rate < 0 {
			t.Errorf("after %v the rate is %v", count, rate)
		}
	}
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

func TestTextOfProgramsCannotMoveTheCursor(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\tb\nc": "a b c", "\x1b[2J": "·[2J", "a\u202eb": "ab", "\x9b31m": "\ufffd31m",
		"\u009b31m": "·31m",
		"é":         "é", "e\u0301": "e\u0301", "訓練": "訓練", "👩\u200d💻": "👩💻", "x\xff": "x\ufffd",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

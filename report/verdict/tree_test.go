package verdict

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/tracer/record"
)

// tree is a run of 45 s of a program and of workers that live from one second to
// another, each with so much of the device.
func tree(held float64, lives ...[2]float64) *record.Run {
	names := []string{record.ColTime, record.ColPID, record.ColFootprint, record.ColGPU, record.ColLive, record.ColIdle}
	cols := make([][]float64, len(names))
	row := func(v ...float64) {
		for i, x := range v {
			cols[i] = append(cols[i], x)
		}
	}
	for i := range 900 {
		at := float64(i) / 20
		row(at*1000, 100, 80*mib, 0, 0, 0)
		for n, life := range lives {
			if at >= life[0] && at < life[1] {
				row(at*1000, float64(200+n), 333*mib, 520*mib+held, held, 0)
			}
		}
	}
	return &record.Run{Meta: record.Meta{PID: 100}, Samples: record.NewSamples(names, cols)}
}

func TestWorkersThatNobodyEndsAreAFindingAndOthersAreNot(t *testing.T) {
	t.Parallel()
	const run = 45.
	var left, pass, atOnce, late, ring [][2]float64
	for i := range 7 {
		from := 2 + 6*float64(i)
		left = append(left, [2]float64{from, run})
		pass = append(pass, [2]float64{from, from + 5.5})
		atOnce = append(atOnce, [2]float64{1 + float64(i)/10, run})
		late = append(late, [2]float64{24 + float64(i)/10, run})
		ring = append(ring, [2]float64{from, from + 14}) // two or three at a time
	}
	for name, c := range map[string]struct {
		lives [][2]float64
		want  Class
	}{
		"one each six seconds":     {left, AppLeak},
		"one after the other":      {pass, None},
		"all at the start":         {atOnce, None},
		"all at once, later":       {late, None},
		"each for fourteen":        {ring, None},
		"two that come and stay":   {left[2:4], None},
		"three that come and stay": {left[4:], None},
		"four that come and stay":  {left[3:], AppLeak},
	} {
		v := Judge(tree(128*mib, c.lives...), Options{})
		if v.Verdict != c.want {
			t.Errorf("%s: %s", name, v.Summary)
		}
		if c.want != AppLeak {
			continue
		}
		if v.RestsOn != ByProcesses || v.PID != 100 || len(v.Causes) == 0 || v.Causes[0].ID != cause.Workers {
			t.Errorf("%s: by %s, process %d, causes %+v", name, v.RestsOn, v.PID, v.Causes)
		}
		if !strings.Contains(v.Summary, "none of them ended") || v.DrivenBy != nil || v.Forecast != nil {
			t.Errorf("%s: %s, driven by %+v, forecast %+v", name, v.Summary, v.DrivenBy, v.Forecast)
		}
	}
}

func TestWorkersHoldWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	var lives [][2]float64
	for i := range 7 {
		lives = append(lives, [2]float64{2 + 6*float64(i), 45})
	}
	if v := Judge(tree(0, lives...), Options{}); v.Verdict != DriverGrowth {
		t.Errorf("workers with a context alone: %s", v.Summary)
	}
}

func TestATreeChangesByWhatItsProcessesDoTogether(t *testing.T) {
	t.Parallel()
	var lives [][2]float64
	for i := range 7 {
		lives = append(lives, [2]float64{2 + 6*float64(i), 45})
	}
	run := tree(128*mib, lives...)
	run.Events = []record.Event{{Kind: record.KindProcess, PID: 202, Name: "worker --serve"},
		{Kind: record.KindProcess, PID: 204, Name: "worker --serve"}, {Kind: record.KindProcess, PID: 206, Name: "helper"}}
	v := Judge(run, Options{})
	k := v.Tree
	if k == nil || k.Processes != (Living{1, 8, 8}) {
		t.Fatalf("the tree is %+v", k)
	}
	sum := int64(0)
	for _, a := range k.Accounts {
		sum += a.ChangeBytes
	}
	if sum != k.Bytes || k.Bytes != 7*(333+520+128)*mib || *k.DeviceBytes != 7*648*mib || *k.FootprintBytes != 7*333*mib {
		t.Errorf("the accounts sum to %d: %+v", sum, k)
	}
	if k.Accounts[0] != (TreeShare{Live, 7 * 128 * mib}) || v.Measured.Bytes != 0 {
		t.Errorf("%+v beside %+v", k.Accounts, v.Measured)
	}
	for _, p := range v.Processes[1:] {
		if p.Bytes == nil || *p.Bytes != (333+520+128)*mib {
			t.Errorf("process %d holds %v", p.PID, p.Bytes)
		}
	}
	if want := "their command: worker --serve (1 of them has another)"; !strings.Contains(v.Summary, want) {
		t.Errorf("no %q in %s", want, v.Summary)
	}
}

func TestAProcessThatHasEndedHoldsNothingOfTheTree(t *testing.T) {
	t.Parallel()
	v := Judge(tree(128*mib, [2]float64{0, 20}, [2]float64{0, 45}), Options{})
	if k := v.Tree; k == nil || k.Processes != (Living{3, 2, 3}) || k.Bytes != -(333+520+128)*mib {
		t.Errorf("%+v", v.Tree)
	}
	if v := Judge(tree(128*mib), Options{}); v.Tree != nil {
		t.Errorf("a single process has the tree %+v", v.Tree)
	}
}

// TestWorkersOfOneLineCountFromTheFirst: a server that starts its
// shards again and again and ends none.
func TestWorkersOfOneLineCountFromTheFirst(t *testing.T) {
	t.Parallel()
	lives := [][2]float64{{1, 45}, {11, 45}, {22, 45}, {33, 45}}
	born := func(lines ...string) *record.Run {
		run := tree(0, lives...)
		for i, line := range lines {
			run.Events = append(run.Events, record.Event{TMs: lives[i][0] * 1000, PID: 100, Kind: record.KindChild,
				At: line, Detail: []byte(`{"pid":` + strconv.Itoa(200+i) + `}`)})
		}
		return run
	}
	const restart, setup = "/src/serve.py:40 restart", "/src/serve.py:8 setup"
	if v := Judge(born(restart, restart, restart, restart), Options{}); v.RestsOn != ByProcesses ||
		!strings.Contains(v.Answer, "4 processes") || !strings.Contains(v.Answer, "serve.py:40") {
		t.Errorf("one line started all: %s", v.Answer)
	}
	for name, run := range map[string]*record.Run{
		"another line started the first": born(setup, restart, restart, restart), "nobody told": born(),
	} {
		if v := Judge(run, Options{}); v.Verdict != None {
			t.Errorf("%s: %s", name, v.Answer)
		}
	}
}

// TestTheLargerOfTwoSureGrowthsIsTheAnswer: what a process sends and another keeps grows in
// the first, and the handles of it in the second.
func TestTheLargerOfTwoSureGrowthsIsTheAnswer(t *testing.T) {
	t.Parallel()
	names := []string{record.ColTime, record.ColPID, record.ColRSS, record.ColGPU, record.ColLive, record.ColIdle}
	cols := make([][]float64, len(names))
	r := rand.New(rand.NewPCG(3, 3))
	for i := range 600 {
		grown := mib * (float64(i) + 2*r.NormFloat64())
		for pid, row := range map[float64][]float64{
			100: {300 * mib, 900*mib + grown, 300*mib + grown, 0},
			200: {310*mib + 16*kib*float64(i), 500 * mib, 0, 0},
		} {
			for n, v := range append([]float64{float64(i) * 50, pid}, row...) {
				cols[n] = append(cols[n], v)
			}
		}
	}
	run := &record.Run{Meta: record.Meta{PID: 100}, Samples: record.NewSamples(names, cols)}
	if v := Judge(run, Options{}); v.PID != 100 || v.Verdict != AppLeak || v.Tier != Confirmed {
		t.Errorf("process %d: %s; %+v", v.PID, v.Answer, v.Processes)
	}
}

// small is the same tree with workers of so much host memory each, and no device.
func small(held float64, lives ...[2]float64) *Verdict {
	run := tree(0, lives...)
	for _, name := range []string{record.ColGPU, record.ColLive, record.ColIdle} {
		for i := range run.Samples.Column(name) {
			run.Samples.Column(name)[i] = 0
		}
	}
	pids, footprint := run.Samples.Column(record.ColPID), run.Samples.Column(record.ColFootprint)
	for i := range footprint {
		if pids[i] != 100 {
			footprint[i] = held
		}
	}
	return Judge(run, Options{})
}

func TestSmallWorkersThatNobodyEndsCountByWhatTheyHoldTogether(t *testing.T) {
	t.Parallel()
	var left, ended [][2]float64
	for i := range 10 {
		from := 2 + 4*float64(i)
		left = append(left, [2]float64{from, 45})
		ended = append(ended, [2]float64{from, from + 9})
	}
	for name, c := range map[string]struct {
		held  float64
		lives [][2]float64
		want  Class
	}{
		"3 MiB each": {3 * mib, left, HostGrowth}, "shells": {mib, left, None},
		"too little together": {2.1 * mib, left[4:], None}, "that end": {3 * mib, ended, None},
	} {
		if v := small(c.held, c.lives...); v.Verdict != c.want {
			t.Errorf("%s: %s", name, v.Summary)
		}
	}
}

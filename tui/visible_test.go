package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheVerdictIsVisibleAtEverySizeWhateverIsChosen(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 10}, {40, 14}, {60, 20}, {80, 24}, {100, 30}, {120, 40}, {200, 60}} {
		m := leakModel(t, Appearance{}, size[0], size[1])
		for id := range panelCount {
			for _, maximised := range []bool{false, true} {
				m.focus, m.maximised = id, maximised
				for range 3 {
					if picture := m.View(); !strings.Contains(picture, "▲ driver-growth confirmed 99 %") {
						t.Fatalf("%v, %s, alone %v: no verdict on\n%s", size, panelNames[id], maximised, picture)
					}
					m.keysForTest("pgdown")
				}
			}
		}
	}
}

func TestPanelsHaveTheNumberOfTheirKey(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 60}} {
		for id := range reachable {
			m := leakModel(t, Appearance{}, size[0], size[1])
			m.keysForTest(fmt.Sprint(int(id) + 1))
			if want := fmt.Sprintf("━▸ %d %s", id+1, panelNames[id]); !strings.Contains(m.View(), want) {
				t.Errorf("%v: %q is not on\n%s", size, want, m.View())
			}
		}
	}
}

func TestNoPanelIsEmptyWhileAnotherHidesLines(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 40}, {200, 60}} {
		m := leakModel(t, Appearance{}, size[0], size[1])
		m.frame.Sites, m.frame.Holders, m.frame.Output, m.frame.Events = nil, nil, nil, nil
		m.frame.Pool, m.frame.Now[seriesLive], m.frame.Now[seriesIdle] = unknownPool(), unknownValues()[0],
			unknownValues()[0]
		picture := m.View()
		for _, empty := range []panelID{panelSites, panelOutput, panelEvents, panelPool} {
			if strings.Contains(picture, panelNames[empty]) {
				t.Errorf("%v: the panel %q has nothing to show and takes room:\n%s", size, panelNames[empty], picture)
			}
		}
	}
}

func TestWhatNobodyTellsIsNamedOnceInsteadOfRowsOfDashes(t *testing.T) {
	t.Parallel()
	f, clock := leakFeed(true)
	f.reset()
	for i := range 60 {
		f.Row(4711, float64(i)*50, []record.Cell{{Column: record.ColRSS, Value: int64(i) * mib},
			{Column: record.ColFootprint, Value: int64(i) * mib}})
	}
	f.mu.Lock()
	fr := f.frame(clock.now)
	f.mu.Unlock()
	picture := accountsPanel{newStyles(Appearance{}), fr, false, false}.Render(100, 20)
	if strings.Contains(picture, units.Unknown) || !strings.Contains(picture, "not told: live, idle, untracked") {
		t.Errorf("\n%s", picture)
	}
}

func TestTheProgramsOutputIsVisibleWithoutAKey(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		if picture := leakModel(t, Appearance{}, size[0], size[1]).View(); !strings.Contains(picture, "solution 11:") {
			t.Errorf("%v: the last line of the output is not on\n%s", size, picture)
		}
	}
}

func TestChartsAreFilledPlainlyWhereColoursTellAccountsApart(t *testing.T) {
	t.Parallel()
	for look, shaded := range map[Colors]bool{NoColors: true, Colors16: false, TrueColors: false} {
		picture := leakModel(t, Appearance{Colors: look}, 120, 40).View()
		if got := strings.ContainsAny(ansi.Strip(picture), "▓▒░"); got != shaded {
			t.Errorf("with colours %d shades are used: %v", look, got)
		}
	}
}

func TestTheHelpHasALegendForEverySign(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 200, 60)
	screens := m.View()
	m.keysForTest("?")
	legend := m.View()
	for _, r := range "█▓▒░ΣΔ▲✓?↑×●○▶▸△" + units.Unknown {
		if strings.ContainsRune(screens, r) && !strings.ContainsRune(legend, r) {
			t.Errorf("%q is on the screen and not in the legend", r)
		}
	}
	for _, mark := range stateMarks {
		if !strings.Contains(legend, mark) {
			t.Errorf("%q marks a state and is not in the legend", mark)
		}
	}
	if !strings.Contains(legend, "below a chart: a phase begins") {
		t.Errorf("no legend:\n%s", legend)
	}
}

func TestAfterTheEndTheValuesAreThoseOfTheWork(t *testing.T) {
	t.Parallel()
	f, clock := leakFeed(true)
	for i := range 20 { // it gives everything up, and ends
		f.Row(4711, 30000+float64(i)*50, []record.Cell{{Column: record.ColLive, Value: 0},
			{Column: record.ColIdle, Value: 0},
			{Column: record.ColGPU, Value: 0}, {Column: record.ColFootprint, Value: mib}})
	}
	look := func() (*Frame, string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		fr := f.frame(clock.now)
		return fr, accountsPanel{newStyles(Appearance{}), fr, false, false}.Render(100, 30)
	}
	if fr, picture := look(); fr.AtWork || fr.Now[seriesLive] != 0 || !strings.Contains(picture, " now ") {
		t.Errorf("while it runs the values are the present ones: %v\n%s", fr.Now, picture)
	}
	f.End()
	fr, picture := look()
	if want := float64(40+599%20) * mib; !fr.AtWork || fr.Now[seriesLive] != want ||
		!strings.Contains(picture, " last ") {
		t.Errorf("live is %v, want %v:\n%s", fr.Now[seriesLive], want, picture)
	}
	at := slices.IndexFunc(fr.Processes, func(p Process) bool { return p.PID == 4711 })
	if p := fr.Processes[at]; p.Now[seriesFootprint] < 400*mib {
		t.Errorf("the list shows the emptied process: %v", p.Now)
	}
}

func TestAnExperimentOnAProgramThatGoesOnGrowingSaysSo(t *testing.T) {
	t.Parallel()
	text := receiptText(&record.Receipt{Action: "collect", ClaimedBytes: pointer(int64(8 * mib)),
		ReturnedBytes: pointer(int64(-3 * mib))})
	if want := "collect: claimed " + units.Bytes(8*mib) + ", but the program went on growing: " +
		units.Bytes(3*mib) + " more after it than before"; text != want {
		t.Errorf("%q", text)
	}
}

func TestTheVerdictSaysWhoHoldsMost(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{}, 200, 60)
	if picture := m.View(); !strings.Contains(picture,
		"held by: model.layers[3].weight, "+units.Bytes(40*mib)+" in 2") ||
		!strings.Contains(picture, "allocated at: workloads/nqueens.go:141 (*board).epoch, "+units.Bytes(52*mib)) {
		t.Errorf("\n%s", picture)
	}
	m.frame.Judged.Verdict = &verdict.Verdict{Verdict: verdict.None}
	if strings.Contains(m.View(), "held by:") {
		t.Error("a program that does not grow is asked who holds it")
	}
}

func TestTheVerdictLeavesNoEmptyRoomBelowItself(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{60, 24}, {80, 24}, {100, 30}, {120, 40}, {160, 50}, {200, 60}} {
		for _, focus := range []panelID{panelAccounts, panelProcesses, panelHealth, panelPool} {
			m := leakModel(t, Appearance{}, size[0], size[1])
			m.frame.Sites, m.frame.Holders, m.frame.Output, m.frame.Events = nil, nil, nil, nil
			m.frame.Composition, m.frame.Judged.Verdict = nil,
				&verdict.Verdict{Verdict: verdict.None, Claim: "no account grows"}
			m.focus = focus
			m.View()
			need := needsOf(m.styles, m.frame)
			for _, p := range m.places {
				if p.panel == panelVerdict && p.h > need(panelVerdict, p.w) {
					t.Errorf("%v, %s: the verdict needs %d lines and has %d:\n%s", size, panelNames[focus],
						need(panelVerdict, p.w), p.h, m.View())
				}
			}
		}
	}
}

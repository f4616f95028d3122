package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/mattn/go-runewidth"

	"github.com/gpumem/gpumem/report/verdict"
)

var sizes = [][2]int{{60, 20}, {80, 24}, {120, 40}, {200, 60}}

var appearances = map[string]Appearance{
	"dark":  {Colors: TrueColors},
	"light": {Colors: Colors256, Light: true},
	"plain": {},
	"ascii": {ASCII: true},
}

// checkPicture asserts the size of a picture, whatever is in it.
func checkPicture(t *testing.T, what, picture string, w, h int) {
	t.Helper()
	lines := strings.Split(picture, "\n")
	if len(lines) != h {
		t.Errorf("%s: %d lines, want %d", what, len(lines), h)
	}
	for i, l := range lines {
		if n := ansi.StringWidth(l); n > w {
			t.Errorf("%s: line %d is %d cells wide, the terminal has %d: %q", what, i+1, n, w, l)
		}
		if n := runewidth.StringWidth(ansi.Strip(l)); n > w {
			t.Errorf("%s: line %d is %d cells by runewidth, the terminal has %d: %q", what, i+1, n, w, l)
		}
		for _, r := range ansi.Strip(l) {
			if r < 0x20 || r >= 0x7f && r < 0xa0 {
				t.Errorf("%s: line %d has the control character %U: %q", what, i+1, r, l)
			}
		}
	}
}

// golden compares with testdata/NAME.txt; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "␛")
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with -update", err)
	}
	if got == string(want) {
		return
	}
	a, b := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		var x, y string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			t.Fatalf("%s, line %d:\nwant %q\ngot  %q\n(-update writes it anew)", path, i+1, x, y)
		}
	}
}

// panels are all panels over one frame.
func panels(s *styles, f *Frame) map[string]interface{ Render(w, h int) string } {
	keys := newKeyMap()
	return map[string]interface{ Render(w, h int) string }{
		"accounts":  accountsPanel{s, f, true, true},
		"verdict":   verdictPanel{s, f, false, 0},
		"processes": processesPanel{s, f, true, order{by: byMemory}, 4712, ""},
		"sites":     sitesPanel{s, f, false, 0, true},
		"pool":      poolPanel{s, f, false},
		"events":    eventsPanel{s, f, false, 0},
		"output":    outputPanel{s, f, false, 0},
		"memory":    compositionPanel{s, f, false, 0, false},
		"health":    healthPanel{s, f, false, drawing{}},
		"help":      helpPanel{s, &keys, 0},
	}
}

func TestEveryPanelLooksAsItDid(t *testing.T) {
	t.Parallel()
	frame := leakFrame(t, true, WholeView(200))
	frame.Health.FrameCost = 0
	for look, a := range appearances {
		for name, p := range panels(newStyles(a), frame) {
			var out strings.Builder
			for _, size := range sizes {
				w, h := size[0], size[1]
				picture := p.Render(w, h)
				if a.ASCII {
					picture = toASCII(picture)
				}
				checkPicture(t, fmt.Sprintf("%s %s %dx%d", name, look, w, h), picture, w, h)
				fmt.Fprintf(&out, "=== %d×%d\n%s\n", w, h, picture)
			}
			golden(t, name+"."+look, out.String())
		}
	}
}

func TestTheWholeScreenLooksAsItDid(t *testing.T) {
	t.Parallel()
	for look, a := range appearances {
		var out strings.Builder
		for _, size := range sizes {
			m := leakModel(t, a, size[0], size[1])
			m.frame.Health.FrameCost = 0
			picture := m.View()
			checkPicture(t, fmt.Sprintf("screen %s %v", look, size), picture, size[0], size[1])
			fmt.Fprintf(&out, "=== %d×%d\n%s\n", size[0], size[1], picture)
			if a.ASCII && strings.IndexFunc(picture, func(r rune) bool { return r > 126 }) >= 0 {
				t.Errorf("the ASCII screen at %v has other characters", size)
			}
			if (a.Colors == NoColors) != !strings.Contains(picture, "\x1b") {
				t.Errorf("%s at %v: escape sequences %v with %d colours", look, size, a.Colors != NoColors, a.Colors)
			}
		}
		golden(t, "screen."+look, out.String())
	}
}

func TestOnDiscreteGPUsTheLedgersAreApart(t *testing.T) {
	t.Parallel()
	s := newStyles(Appearance{})
	var out strings.Builder
	for _, size := range sizes {
		picture := accountsPanel{s, leakFrame(t, false, WholeView(200)), false, false}.Render(size[0], size[1])
		checkPicture(t, fmt.Sprint("discrete ", size), picture, size[0], size[1])
		fmt.Fprintf(&out, "=== %d×%d\n%s\n", size[0], size[1], picture)
	}
	golden(t, "discrete.plain", out.String())
	if !strings.Contains(out.String(), " device") || !strings.Contains(out.String(), " host") {
		t.Error("the two ledgers are not named")
	}
}

func TestNoSizeBreaksTheScreen(t *testing.T) {
	t.Parallel()
	m := leakModel(t, Appearance{Colors: Colors16}, 80, 24)
	for w := 1; w <= 320; w += 11 {
		for h := 1; h <= 110; h += 7 {
			m.w, m.h = w, h
			for n := range 2 { // each panel meets every part of the range of sizes
				m.focus = panelID((w/11 + 3*(h/7) + 4*n) % int(panelCount))
				focus := m.focus
				picture := m.View()
				if w < leastWidth || h < leastHeight {
					if ansi.StringWidth(picture) > w {
						t.Fatalf("%dx%d: %q is too wide", w, h, picture)
					}
					continue
				}
				checkPicture(t, fmt.Sprintf("%dx%d focus %d", w, h, focus), picture, w, h)
			}
		}
	}
}

func TestPanelsOfAnEmptyFrameStandToo(t *testing.T) {
	t.Parallel()
	m := New(t.Context(), Options{Source: NewFeed(FeedOptions{})})
	for _, size := range sizes {
		m.w, m.h = size[0], size[1]
		for m.focus = range panelCount {
			checkPicture(t, fmt.Sprint("empty ", size), m.View(), size[0], size[1])
		}
	}
	for name, p := range panels(newStyles(Appearance{}), m.frame) {
		checkPicture(t, name, p.Render(40, 10), 40, 10)
	}
}

func TestTheCostOfAGrowingNumberIsNotInBytes(t *testing.T) {
	t.Parallel()
	frame := leakFrame(t, true, WholeView(200))
	frame.Judged.Verdict = &verdict.Verdict{Verdict: verdict.DriverGrowth,
		DrivenBy: &verdict.DrivenBy{Per: "second", Of: "events", Interval: verdict.Interval{Value: 194}}}
	panel := verdictPanel{newStyles(Appearance{}), frame, false, 0}
	if text := panel.Render(80, 20); !strings.Contains(text, "+194 events a second") {
		t.Errorf("%s", text)
	}
}

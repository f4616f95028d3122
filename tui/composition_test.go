package tui

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestWhatLiveMemoryIsMadeOfIsShownGreatestFirst(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{40, 10}, {80, 24}, {120, 40}, {200, 60}} {
		m := leakModel(t, Appearance{}, size[0], size[1])
		if size[0] < 110 {
			m.keysForTest("9")
		}
		picture := m.View()
		at := -1
		for _, want := range []string{"9 Live memory, " + units.Bytes(56*mib) + " at 0:28.0",
			units.Bytes(28*mib) + "   50 %", units.Bytes(20*mib) + "   36 %", units.Bytes(8*mib) + "   14 %"} {
			next := strings.Index(picture, want)
			if next <= at {
				t.Errorf("%v: %q is missing or out of order:\n%s", size, want, picture)
			}
			at = next
		}
		if !strings.Contains(picture, "activations") {
			t.Errorf("%v:\n%s", size, picture)
		}
		if strings.Contains(picture, "unnamed") {
			t.Errorf("%v: a category without a byte has a line", size)
		}
	}
}

func TestACompositionThatCannotBeReadLeavesTheOneBefore(t *testing.T) {
	t.Parallel()
	f, clock := leakFeed(true)
	for _, detail := range []string{`{`, `{"categories":{}}`, ``, `[]`} {
		f.Event(record.Event{TMs: 29500, Kind: record.KindComposition, Detail: json.RawMessage(detail)})
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.frame(clock.now).Composition; c == nil || c.Bytes != 56*mib || c.AtMs != 28000 {
		t.Errorf("%+v", c)
	}
}

func TestThePanelOfCompositionSaysWhenNothingIsTold(t *testing.T) {
	t.Parallel()
	f, clock := leakFeed(true)
	f.reset()
	f.mu.Lock()
	fr := f.frame(clock.now)
	f.mu.Unlock()
	if picture := (compositionPanel{newStyles(Appearance{}), fr, true, 0, false}).Render(60,
		8); !strings.Contains(picture, "Not told so far") {
		t.Errorf("\n%s", picture)
	}
}

func TestTheProgramIsAskedWhatItsLiveMemoryIsMadeOfWhileItRuns(t *testing.T) {
	t.Parallel()
	f, clock := leakFeed(true)
	f.mu.Lock()
	f.composition = nil
	fr := f.frame(clock.now)
	f.mu.Unlock()
	var asked []string
	m := New(t.Context(), Options{Source: f, Now: clock.Now, Control: Control{
		Actions: func() []string { return []string{record.ActionComposition} },
		Experiment: func(action string) (*record.Receipt, error) {
			asked = append(asked, action)
			return nil, nil
		},
	}})
	m.resize(80, 24)
	m.take(frameMsg{frame: fr})
	m.keysForTest("9")
	if picture := m.View(); !strings.Contains(picture, "Press r to ask") {
		t.Errorf("the panel does not say how to ask:\n%s", picture)
	}
	said := m.survivors()()
	if len(asked) != 1 || asked[0] != record.ActionComposition || m.focus != panelComposition {
		t.Errorf("asked %v, focus %v, said %v", asked, m.focus, said)
	}
	fr.Done = true
	if text := strings.Join(strings.Fields(m.View()), " "); !strings.Contains(text, "only programs with PyTorch") {
		t.Errorf("after the end:\n%s", m.View())
	}
}

func TestAPanelWithNothingToShowHasRoomToSayWhy(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		m := leakModel(t, Appearance{}, size[0], size[1])
		m.frame.Composition = nil
		m.keysForTest("9")
		text := strings.Join(strings.Fields(m.View()), " ")
		if !strings.Contains(text, "with key r on the screen") && !strings.Contains(text, "gpumem attach).") {
			t.Errorf("%v: the end of the sentence is not on\n%s", size, m.View())
		}
	}
}

package agent

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestTheProtocolsPageNamesAllThatIsSpoken(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "agent-protocol.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := []string{
		EnvSocket, EnvInterval, EnvHold, EnvSettle, PhaseExiting, record.PhaseBaseline, record.PhaseReleased,
		ActionCollect, ActionPurge, ActionTrim, ActionSync, ActionSites, ActionHolders, ActionContinue,
		ActionLook, ActionLeave,
		record.KindStep, record.KindPhase, record.KindScope, record.KindStatement, record.KindEvent,
		record.KindWarning, record.KindOOM, record.KindDied, record.KindWindow,
		record.KindComposition, "kept",
	}
	for _, message := range []any{Hello{}, Mark{}, Do{}, Done{}, record.Site{}, record.Holder{}, record.OOM{},
		record.Pool{}, record.Model{}, record.Optimizer{}} {
		for f := range reflect.TypeOf(message).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(message).Field(f).Tag.Get("json"), ",")
			words = append(words, name)
		}
	}
	for _, word := range words {
		if !strings.Contains(string(text), "`"+word+"`") && !strings.Contains(string(text), `"`+word+`"`) {
			t.Errorf("%q is not explained", word)
		}
	}
	// Its examples are lines that are understood.
	decode := newDecoder()
	examples := 0
	for line := range strings.Lines(string(text)) {
		if example, ok := strings.CutPrefix(line, "    {"); ok && !strings.HasPrefix(example, `"do"`) {
			examples++
			m, err := decode.decode([]byte("{" + example))
			if err != nil || m.Hello == nil && m.Sample == nil && m.Mark == nil && m.Done == nil {
				t.Errorf("%s: %+v, %v", line, m, err)
			}
		}
	}
	if examples < 4 {
		t.Errorf("%d examples", examples)
	}
}

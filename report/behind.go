package report

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
)

// leftTexts say which processes the program left behind and what each holds; the
// first few, and how many more there are.
func leftTexts(v *verdict.Verdict) []string {
	const most = 5
	var out []string
	for _, l := range v.LeftBehind[:min(len(v.LeftBehind), most)] {
		var holds []string
		if b := l.DeviceBytes; b != nil && *b > 0 {
			holds = append(holds, units.Bytes(*b)+" of GPU memory")
		}
		if b := l.FootprintBytes; b != nil {
			holds = append(holds, units.Bytes(*b)+" of host memory")
		}
		text := fmt.Sprintf("PID %d", l.PID)
		if name := nameText(l.Name); name != units.Unknown {
			text += ", " + name
		}
		if len(holds) > 0 {
			text += ", holds " + strings.Join(holds, " and ")
		}
		out = append(out, text+".")
	}
	if more := len(v.LeftBehind) - most; more > 0 {
		out = append(out, fmt.Sprintf("%s more, which verdict.json lists.", units.Count(int64(more))))
	}
	return out
}

// leftTitle stands before processes that the program left behind.
const leftTitle = "Left behind"

// leftSection tells the processes that still ran when the program had ended.
func leftSection(v *verdict.Verdict) section {
	s := section{id: "behind", title: leftTitle}
	if list := leftTexts(v); len(list) > 0 {
		s.blocks = []block{{text: "These processes of the program still ran when it had ended; what they " +
			"hold is free once they end.", list: list}}
	}
	return s
}

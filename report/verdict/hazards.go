package verdict

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// hazardous bounds how sure a verdict is of a program that reuses buffers while the
// device still reads them: what it computes may be wrong, and what it takes with it.
const hazardous = .94 // below confirmed

// hazards is how many buffers were handed out while a command that had not completed
// still used them: what the program counted at its end, else the ones it reported.
func hazards(p *series.Process) int64 {
	var seen, counted int64
	for _, e := range p.Events.About(p.PID) {
		if e.Kind != record.KindEvent {
			continue
		}
		if text, ok := strings.CutPrefix(e.Name, record.EventHazards); ok {
			if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 {
				counted = max(counted, n)
			}
		} else if e.Name == record.EventHazard {
			seen++
		}
	}
	return max(seen, counted)
}

// hazardRow is the finding.
func hazardRow(s *settled) FindingRow {
	return FindingRow{Evidence: ByHazards, Class: s.class, Score: stat.Clamp(1, 0, finding.Certain),
		Why: hazardText(s)}
}

func hazardText(s *settled) string {
	n := hazards(&s.Examined.Process)
	if n == 1 {
		return "1 buffer was handed out while the device still used it: what was computed may be wrong"
	}
	return fmt.Sprintf("%s buffers were handed out while the device still used them: "+
		"what was computed may be wrong", grouped(n))
}

// hazardWords is the same as a sentence after the others; empty where there are none.
func hazardWords(s *settled) string {
	if hazards(&s.Examined.Process) == 0 {
		return ""
	}
	return " " + hazardText(s) + "."
}

// grouped is a number of 0 or more with its thousands apart.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

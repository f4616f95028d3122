package evidence

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/growth"
	"github.com/gpumem/gpumem/report/series"
)

// What a program takes while it starts is no growth, where it is so little or so soon.
const (
	StartSmall = 8 * mib // of host memory: 3 MiB were seen of a healthy native server in 1.5 s
	startLife  = 3.      // seconds in which every program takes its first memory
	startLong  = 6.      // in which one of a busy machine may take the last few MiB of it
)

// findStart is a program that was reading its code in up to the end, or one that ended
// before its start-up can be told from its work and took host memory alone; nil of
// another. Where something counts the work, the work is told, but for so little that the
// first use of everything may have taken it. Of a program that was importing its modules
// it is not said that nothing grows: it had not begun.
func findStart(x *growth.Examined, growth finding.Finding) *finding.Finding {
	const loading, importing = "the program was still loading its code, and loading code is not growth",
		"the program was still importing its modules, and had not begun its work"
	switch {
	case growth.Owner == finding.Nobody && x.Imports:
		return &finding.Finding{Of: series.Keys, Why: importing}
	case x.Starting:
		return &finding.Finding{Of: series.Keys, Why: loading}
	}
	hosts := growth.Of == series.Host || growth.Of == series.Heap
	recorded := len(x.Run.Meta.Command) > 0 // from its start; nobody knows when a bare table begins
	lived := x.Lived()
	small := growth.Of < series.Keys && x.Grow[growth.Of].Gained() < StartSmall
	young := small && lived < startLong || !x.Judged.CountsWork() && lived < startLife
	if recorded && hosts && young && !x.Judged.Untimed {
		return &finding.Finding{Of: series.Keys, Why: fmt.Sprintf(
			"the program ran for only %s, and every program takes host memory while it starts",
			units.Span(lived))}
	}
	return nil
}

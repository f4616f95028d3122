package live

import "github.com/gpumem/gpumem/report/verdict"

// A verdict on a program that goes on is looked at again and again, and the engine
// decides anew each time. What is shown does not follow each of its doubts: another
// class must be found at sureLooks looks in a row, and "undecided" must last until the
// program has been judged for doubtGrowth times as long as when the doubt began. The
// last look, when the program has ended, counts as it is.
const (
	sureLooks   = 2
	doubtGrowth = 1.5
)

// Judged is the verdict on one process as it stands.
type Judged struct {
	Verdict *verdict.Verdict // nil before the first look
	Looks   int              // how often it was judged
	Same    int              // looks in a row with this verdict
	AtMs    float64          // time of the run of the last look
	Turns   []Turn           // changes, oldest first, at most the last 8
	// Watched is set when only alarms are raised for the process, one among many.
	Watched bool

	beganMs float64 // time of the run of the first look
	doubt   doubt
}

// Turn is a change of the verdict.
type Turn struct {
	AtMs    float64
	Verdict verdict.Class
	Tier    verdict.Tier
	Why     string // the answer that changed it
}

// doubt is a class that the last looks found and that is not shown yet.
type doubt struct {
	class  verdict.Class
	fromMs float64
	looks  int
}

// Take notes what a look at a time of the run found. It is shown at once where it is the
// first, agrees with what is shown, or is final.
func (j *Judged) Take(v *verdict.Verdict, atMs float64, final bool) {
	if j.Looks == 0 {
		j.beganMs = atMs
	}
	j.Looks++
	j.AtMs = atMs
	switch {
	case j.Verdict != nil && j.Verdict.Verdict == v.Verdict:
		j.Same++
		j.Verdict, j.doubt = v, doubt{}
		return
	case j.Verdict != nil && !final && !j.convinced(v, atMs):
		return
	}
	j.Same = max(j.doubt.looks, 1)
	turns := append(append([]Turn(nil), j.Turns...), Turn{atMs, v.Verdict, v.Tier, v.Answer})
	j.Turns = turns[max(len(turns)-keptTurns, 0):]
	j.Verdict, j.doubt = v, doubt{}
}

// convinced reports whether another class than the one shown was found for long enough.
func (j *Judged) convinced(v *verdict.Verdict, atMs float64) bool {
	if j.doubt.class != v.Verdict {
		j.doubt = doubt{class: v.Verdict, fromMs: atMs}
	}
	j.doubt.looks++
	if v.Verdict == verdict.Undecided {
		return atMs-j.beganMs >= doubtGrowth*(j.doubt.fromMs-j.beganMs) && j.doubt.looks >= sureLooks
	}
	return j.doubt.looks >= sureLooks
}

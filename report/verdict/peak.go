package verdict

import (
	"cmp"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// tellPeak adds what the run tells of its memory beside growth.
func (v *Verdict) tellPeak(run *record.Run) {
	sure := v.Tier == Confirmed || v.Tier == Likely
	m := peak.Of(run, peak.Growth{
		Sure:  sure && v.Verdict != None && v.Verdict != Undecided,
		Class: string(v.Verdict), Claim: v.Claim,
	})
	v.OOM, v.Peak, v.Composition = m.OOM, m.Peak, m.Composition
	if m.Missing != "" {
		v.Missing = append(v.Missing, "peak: "+m.Missing)
	}
	if m.OOM.Ended() {
		v.Answer = sentence(OutOfMemory, m.OOM.Sentence)
		v.Next = cmp.Or(m.OOM.Advice(), v.Next)
	}
}

// OutOfMemory is what an answer begins with that says why a program ran out of memory.
const OutOfMemory = "out of memory"

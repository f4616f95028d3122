package verdict

import (
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestAMappedFileThatIsChangedGrowsAndOneThatIsReadDoesNot(t *testing.T) {
	t.Parallel()
	program := func(dirty float64) *program {
		p := newProgram(300)
		at := func(i int) float64 { return 4 * mib * float64(i) }
		p.set(record.ColRSSFile, func(i int) float64 { return 10*mib + at(i)*1.5 })
		p.set(record.ColFileDirty, func(i int) float64 { return dirty * at(i) })
		p.set(record.ColFootprint, func(i int) float64 { return 20*mib + dirty*at(i) + 4*kib*p.r.NormFloat64() })
		return p
	}
	if v := program(1).judge(); v.Verdict != HostGrowth {
		t.Errorf("a file that is changed: %s", v.Summary)
	}
	if v := program(0).judge(); v.Verdict != None {
		t.Errorf("a file that is read: %s", v.Summary)
	}
}

func TestAChildOfAMomentLeavesAProgramThatReadsAMappedFileDecided(t *testing.T) {
	t.Parallel()
	names := []string{record.ColTime, record.ColPID, record.ColFootprint, record.ColRSSFile}
	cols := make([][]float64, len(names))
	row := func(v ...float64) {
		for i, x := range v {
			cols[i] = append(cols[i], x)
		}
	}
	for i := range 400 {
		row(float64(i)*50, 100, 80*mib, 10*mib+6*mib*float64(i))
		if i == 1 {
			row(float64(i)*50, 101, 2*mib, mib)
		}
	}
	v := Judge(&record.Run{Meta: record.Meta{PID: 100}, Samples: record.NewSamples(names, cols)}, Options{})
	if v.Verdict != None || v.PID != 100 {
		t.Errorf("of process %d: %s", v.PID, v.Summary)
	}
}

// TestALeakBesideAMappedFileIsDecidedWhereTheFileHasNoCode: 20 s, in which 6 MiB come from
// the file with each row.
func TestALeakBesideAMappedFileIsDecidedWhereTheFileHasNoCode(t *testing.T) {
	t.Parallel()
	judged := func(code, leaks float64) *Verdict {
		p := newProgram(400).set(record.ColRSSFile, func(i int) float64 { return 4*mib + 6*mib*float64(i) })
		p.meta.Command = []string{"reader"}
		p.grows(record.ColFootprint, 30*mib, 16*kib, leaks)
		if code > 0 {
			p.set(record.ColFileCode, func(int) float64 { return code })
		}
		return p.judge()
	}
	const leak = 80 * kib
	for _, c := range []struct {
		name        string
		code, leaks float64
		want        Class
	}{
		{"a leak", 12 * mib, leak, HostGrowth},
		{"none", 12 * mib, 0, None},
		{"pages that may all be code", 4 << 30, leak, Undecided},
		{"nobody told what may be code", 0, leak, Undecided},
	} {
		if v := judged(c.code, c.leaks); v.Verdict != c.want {
			t.Errorf("%s: %s", c.name, v.Summary)
		}
	}
}

package account

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/tracer/record"
)

// Unified says whether GPU bytes are host memory.
type Unified string

// The settings of Unified; Auto judges from the data.
const (
	UnifiedAuto Unified = "auto"
	UnifiedYes  Unified = "yes"
	UnifiedNo   Unified = "no"
)

// Of is the setting for a run: the user's word, else run.json's, else the data
// decide.
func (u Unified) Of(m record.Meta) Unified {
	switch {
	case u == UnifiedYes || u == UnifiedNo:
		return u
	case m.UnifiedMemory == nil:
		return UnifiedAuto
	case *m.UnifiedMemory:
		return UnifiedYes
	}
	return UnifiedNo
}

// Columns finds a column of a recording by name; nil is one that is not there. All
// columns have the same length.
type Columns func(name string) []float64

// Ledger is the rows of one process by account. A nil series is unknown in each
// row, else NaN is. Live, Idle and Device may be the recording's own slices.
type Ledger struct {
	Tells
	Device                []float64
	Live, Idle, Untracked []float64
	Host, FootprintBytes  []float64
	// FromData is set when the data decided that the memory is unified.
	FromData bool
}

// New charges the rows of a recording to accounts.
func New(column Columns, u Unified) *Ledger {
	var in [len(columnNames)][]float64
	for i, name := range columnNames {
		in[i] = column(name)
	}
	l := &Ledger{Live: in[2], Idle: in[3]}
	if l.Live == nil {
		l.Live = in[4]
	}
	rows := 0
	for i, has := range l.told() {
		*has = in[i] != nil
		rows = max(rows, len(in[i]))
	}
	if l.poolsTell() {
		l.Idle = in[5]
	}
	if l.Device = in[0]; l.Device == nil {
		l.Device = in[1]
		if l.Device != nil && l.poolsTell() {
			l.Device = stat.Plus(in[1], in[5])
		}
	}
	l.unify(in[:], rows, u)
	l.Untracked, l.Host, l.FootprintBytes = make([]float64, rows), make([]float64, rows),
		make([]float64, rows)
	for i := range rows {
		c := cellsAt(in[:], i)
		r := l.Charge(c)
		l.Untracked[i], l.Host[i], l.FootprintBytes[i] = r.Untracked, r.Host, l.footprint(c)
	}
	l.Untracked, l.Host, l.FootprintBytes = orNil(l.Untracked), orNil(l.Host), orNil(l.FootprintBytes)
	return l
}

func cellsAt(in [][]float64, row int) Cells {
	c := Unknown()
	for i, v := range c.values() {
		if in[i] != nil {
			*v = in[i][row]
		}
	}
	return c
}

// Last is the newest known value of each account.
func (l *Ledger) Last() Row {
	last := func(v []float64) float64 {
		for i := len(v) - 1; i >= 0; i-- {
			if v[i] == v[i] {
				return v[i]
			}
		}
		return math.NaN()
	}
	return Row{Device: last(l.Device), Live: last(l.Live), Idle: last(l.Idle), Untracked: last(l.Untracked),
		Host: last(l.Host)}
}

// Decided is what was decided on device bytes being host memory.
func (l *Ledger) Decided() Unified {
	if l.Unified {
		return UnifiedYes
	}
	return UnifiedNo
}

// ShownHost is the host account for people: see Tells.Shown.
func (l *Ledger) ShownHost() []float64 {
	out := slices.Clone(l.Host)
	for i, v := range out {
		out[i] = l.Shown(Row{Host: v}).Host
	}
	return out
}

// unify settles whether the memory is unified.
func (l *Ledger) unify(in [][]float64, rows int, u Unified) {
	switch u {
	case UnifiedYes:
		l.Unified = true
	case UnifiedNo:
	default:
		footprint, held := make([]float64, rows), make([]float64, rows)
		for i := range rows {
			c := cellsAt(in, i)
			footprint[i], held[i] = l.footprint(c), l.held(c)
		}
		l.Unified = movesInside(footprint, held)
		l.FromData = l.Unified
	}
}

// Sizes in bytes from which a movement tells something.
const (
	leastMove  = 1 << 20
	leastMoved = 16 << 20
)

// movesInside reports whether device bytes are part of the footprint: never more
// than it, and moving it by as much when they jump, up and down.
func movesInside(footprint, held []float64) bool {
	var up, upWith, down, downWith float64
	last := -1
	for i := range footprint {
		if footprint[i] != footprint[i] || held[i] != held[i] {
			continue
		}
		if held[i] > footprint[i] {
			return false
		}
		if last >= 0 {
			d, g := held[i]-held[last], footprint[i]-footprint[last]
			if d >= leastMove {
				up, upWith = up+d, upWith+stat.Clamp(g, 0, 1.5*d)
			}
			if d <= -leastMove {
				down, downWith = down-d, downWith+stat.Clamp(-g, 0, -1.5*d)
			}
		}
		last = i
	}
	return up > leastMoved && upWith > .7*up && (down < leastMoved || downWith > .7*down)
}

// orNil is v, or nil when no value of it is known.
func orNil(v []float64) []float64 {
	for _, x := range v {
		if x == x {
			return v
		}
	}
	return nil
}

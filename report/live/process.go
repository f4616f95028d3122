package live

import (
	"math"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// keptTurns bounds the changes of a verdict that are kept.
const keptTurns = 8

// Process is one process of a Set. Its fields are read, and Name, Gone and View
// set, with the Set's lock held.
type Process struct {
	PID  int
	Name string // as a person calls it; empty is unknown
	// Gone says that somebody saw its end. What is known of it stays.
	Gone bool
	// Dead says that there is no such process and its memory is held all the same.
	Dead bool
	// FirstMs and LastMs are the times of its first row and of its last, NaN before
	// it has one; Count is how many it had.
	FirstMs, LastMs float64
	Count           int64
	// Judged is the verdict on it as it stands, Alarm the Monitor's, nil when it
	// raises none.
	Judged Judged
	Alarm  *verdict.Verdict
	// View is what the owner keeps beside it.
	View any

	rows     record.Thinned
	accounts account.Latest
	latest   []timed
	hint     []int // in latest, of the i-th cell of the row before

	judgedAt int64   // rows when it was judged last
	nextMs   float64 // time of the run before which it is not judged again
	nextLook int64   // and on the clock, when it is the chosen one, in ns
}

// timed is the latest value of a column.
type timed struct {
	cell record.Cell
	tMs  float64
}

func newProcess(pid, rows int) *Process {
	return &Process{PID: pid, FirstMs: math.NaN(), LastMs: math.NaN(), rows: record.NewThinned(rows)}
}

// take keeps the values of a row and returns its time, which never goes back.
func (p *Process) take(tMs float64, cells []record.Cell) float64 {
	if tMs < p.LastMs {
		tMs = p.LastMs
	}
	p.LastMs = tMs
	for i, c := range cells {
		p.accounts.Take(c)
		p.latest[p.place(i, c.Column)] = timed{c, tMs}
	}
	return tMs
}

// place is where the latest value of a column is, made when new. Rows mostly have
// the same cells in the same order.
func (p *Process) place(i int, column string) int {
	if i < len(p.hint) && p.latest[p.hint[i]].cell.Column == column {
		return p.hint[i]
	}
	k := 0
	for k < len(p.latest) && p.latest[k].cell.Column != column {
		k++
	}
	if k == len(p.latest) {
		p.latest = append(p.latest, timed{})
	}
	for len(p.hint) <= i {
		p.hint = append(p.hint, k)
	}
	p.hint[i] = k
	return k
}

// Accounts are the latest values that accounts are made of, whenever they came.
func (p *Process) Accounts() *account.Latest { return &p.accounts }

// Latest are the latest values that came at most oldMs before the last row.
func (p *Process) Latest(oldMs float64) []record.Cell {
	var out []record.Cell
	for _, v := range p.latest {
		if p.LastMs-v.tMs <= oldMs {
			out = append(out, v.cell)
		}
	}
	return out
}

// Rows are the rows that are kept of the process.
func (p *Process) Rows() *record.Thinned { return &p.rows }

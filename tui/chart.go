package tui

import (
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// eighths are the partial heights of a cell.
var eighths = [...]string{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}

// band is one layer of a stacked chart.
type band struct {
	series series
	token  token
	fill   string
}

// bandOf is an account's layer.
func (s *styles) bandOf(of series) band { return band{of, accountTokens[of], s.fill(of)} }

// gpuBand stands for the accounts of the device where nobody tells them apart.
func (s *styles) gpuBand() band { return band{seriesGPU, untracked, s.fill(seriesUntracked)} }

// bandsOf are the layers of a ledger that the columns know.
func (s *styles) bandsOf(columns []values, device, host bool) []band {
	var have [seriesCount]bool
	for i := range columns {
		for s, x := range columns[i] {
			have[s] = have[s] || known(x)
		}
	}
	var out []band
	if host && have[seriesHost] {
		out = append(out, s.bandOf(seriesHost))
	}
	if !device {
		return out
	}
	for _, of := range [...]series{seriesUntracked, seriesIdle, seriesLive} {
		if have[of] {
			out = append(out, s.bandOf(of))
		}
	}
	if !have[seriesUntracked] && have[seriesGPU] {
		out = append(out[:0:0], out...)
		if !have[seriesLive] && !have[seriesIdle] {
			out = append(out, s.gpuBand())
		}
	}
	return out
}

// stacked draws columns as bands upon each other with an axis of bytes at the
// left and of time at the foot. The foot takes two lines of h.
type stacked struct {
	*styles
	chart *Chart
	bands []band
	name  string
}

const axisWidth = 10

func (c stacked) Render(w, h int) []string {
	rows, cells := h-2, w-axisWidth
	if rows < 2 || cells < 4 {
		return nil
	}
	columns := squeeze(c.chart.Columns, cells)
	top := 0.0
	for i := range columns {
		top = math.Max(top, c.height(&columns[i]))
	}
	scale := ceiling(top)
	grid := c.cells(columns, rows, scale)
	lines := make([]string, 0, h)
	for r := range rows {
		label := ""
		switch {
		case r == 0:
			label = units.Bytes(scale)
		case r == rows/2 && rows >= 6 && rows%2 == 0:
			label = units.Bytes(scale * float64(rows-r) / float64(rows))
		}
		tick := "│"
		if label != "" {
			tick = "┤"
		}
		lines = append(lines, c.paint(dim, right(label, axisWidth-1)+tick)+c.join(grid[r]))
	}
	return append(lines, c.foot(cells)...)
}

// squeeze makes n columns of those there are; of several the highest stays.
func squeeze(columns []values, n int) []values {
	if len(columns) == n || len(columns) == 0 {
		return columns
	}
	out := make([]values, n)
	for i := range out {
		lo := i * len(columns) / n
		hi := max((i+1)*len(columns)/n, lo+1)
		out[i] = columns[lo]
		for k := lo + 1; k < hi; k++ {
			if !(stack(&columns[k]) <= stack(&out[i])) && known(stack(&columns[k])) {
				out[i] = columns[k]
			}
		}
	}
	return out
}

func (c stacked) height(v *values) float64 {
	h := 0.0
	for _, b := range c.bands {
		if known(v[b.series]) {
			h += v[b.series]
		}
	}
	return h
}

// ceiling is the end of an axis: a round number not below x.
func ceiling(x float64) float64 {
	if !(x > 0) {
		return 1024
	}
	size, _ := units.Scale(x)
	if x/size >= 1000 {
		size *= 1024
	}
	x /= size
	for _, step := range [...]float64{.1, .2, .5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 25, 30, 40,
		50, 60, 80, 100, 150, 200, 250, 300, 400, 500, 600, 800, 1000} {
		if x <= step {
			return step * size
		}
	}
	return 1024 * size
}

// cell is one character and its meaning.
type cell struct {
	text  string
	token token
}

// cells fills the grid, top row first.
func (c stacked) cells(columns []values, rows int, scale float64) [][]cell {
	grid := make([][]cell, rows)
	for r := range grid {
		grid[r] = make([]cell, len(columns))
	}
	unit := scale / float64(rows)
	for x := range columns {
		v := &columns[x]
		height := c.height(v)
		for r := range rows {
			low := float64(rows-1-r) * unit
			grid[r][x] = cell{" ", plain}
			if height <= low {
				continue
			}
			b := c.at(v, low+math.Min(unit, height-low)/2)
			if height >= low+unit {
				grid[r][x] = cell{b.fill, b.token}
				continue
			}
			if part := int(math.Round((height - low) / unit * 8)); part > 0 {
				grid[r][x] = cell{eighths[part], b.token}
				if part == 8 {
					grid[r][x].text = b.fill
				}
			}
		}
	}
	return grid
}

// at is the band at a height, the topmost one above all.
func (c stacked) at(v *values, height float64) band {
	below, found := 0.0, band{}
	for _, b := range c.bands {
		if x := v[b.series]; known(x) && x > 0 {
			found = b
			if below += x; height < below {
				break
			}
		}
	}
	return found
}

// join paints a row, equal neighbours at once.
func (c stacked) join(row []cell) string {
	var b strings.Builder
	for i := 0; i < len(row); {
		j := i
		var run strings.Builder
		for ; j < len(row) && row[j].token == row[i].token; j++ {
			run.WriteString(row[j].text)
		}
		b.WriteString(c.paint(row[i].token, run.String()))
		i = j
	}
	return b.String()
}

// foot is the axis of time: a line with the marks, and one of times.
func (c stacked) foot(cells int) []string {
	rule := []rune(strings.Repeat("─", cells))
	span := c.chart.ToMs - c.chart.FromMs
	for _, m := range c.chart.Marks {
		if !(span > 0) {
			break
		}
		x := min(int((m.AtMs-c.chart.FromMs)/span*float64(cells)), cells-1)
		if m.Mine {
			rule[x] = '▲'
		} else if rule[x] == '─' {
			rule[x] = '△'
		}
	}
	from, to := clockText(c.chart.FromMs, span < 20e3), clockText(c.chart.ToMs, span < 20e3)
	middle := clockText(c.chart.FromMs+span/2, span < 20e3)
	times := from
	if cells >= 40 {
		times += blanks(cells/2-width(from)-width(middle)/2) + middle
	}
	times += blanks(cells - width(times) - width(to))
	return []string{
		c.paint(dim, right("0", axisWidth-1)+"└"+string(rule)),
		c.paint(dim, fit(c.name, axisWidth)+cut(times+to, cells)),
	}
}

// sparkline is a series in a line of block characters, from its least to its
// greatest value; a series that does not move is a low line.
func sparkline(v []float64, n int) string {
	if len(v) == 0 || n <= 0 {
		return ""
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, x := range v {
		if known(x) {
			lo, hi = math.Min(lo, x), math.Max(hi, x)
		}
	}
	var b strings.Builder
	for i := range n {
		from := i * len(v) / n
		to := max((i+1)*len(v)/n, from+1)
		peak := math.NaN()
		for _, x := range v[from:to] {
			if known(x) && !(x <= peak) {
				peak = x
			}
		}
		switch {
		case !known(peak):
			b.WriteByte(' ')
		case hi-lo < math.Max(math.Abs(hi)*1e-3, 1): // a thousandth is no movement
			b.WriteString(eighths[1])
		default:
			b.WriteString(eighths[1+int((peak-lo)/(hi-lo)*7)])
		}
	}
	return b.String()
}

package report

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// ofVerdict is the run as the verdict saw it: of a run with several processes
// the rows and events of the one that it is about, and those of the whole run.
// Charts, marks and sums then speak of the same process as the table.
func ofVerdict(run *record.Run, v *verdict.Verdict) *record.Run {
	if v.PID == 0 {
		return run
	}
	one := *ofRows(run, rowsByPID(run)(v.PID))
	one.Events = slices.DeleteFunc(slices.Clone(run.Events), func(e record.Event) bool {
		return e.PID != 0 && e.PID != v.PID
	})
	return &one
}

// ofRows is the run with these rows only.
func ofRows(run *record.Run, keep []int) *record.Run {
	if len(keep) == run.Samples.Len() {
		return run
	}
	names := run.Samples.Names()
	cols := make([][]float64, len(names))
	for c, name := range names {
		in := run.Samples.Column(name)
		cols[c] = make([]float64, len(keep))
		for k, i := range keep {
			cols[c][k] = in[i]
		}
	}
	one := *run
	one.Samples = record.NewSamples(names, cols)
	return &one
}

// rowsByPID finds the rows of a process: all of them where only one is told.
func rowsByPID(run *record.Run) func(pid int) []int {
	pids, rows := account.ByPID(run.Samples, run.Meta.PID)
	return func(pid int) []int {
		if len(pids) == 1 {
			return rows[pids[0]]
		}
		return rows[pid]
	}
}

// inProcess is a sentence about which process of several grows, where that is not the
// one that was started; empty for all others.
func inProcess(run *record.Run, v *verdict.Verdict) string {
	if v.PID == run.Meta.PID || v.Verdict == verdict.None || v.Verdict == verdict.Undecided {
		return ""
	}
	judged := func(p verdict.ProcessRow) bool { return p.PID == v.PID && p.Verdict == v.Verdict }
	i := slices.IndexFunc(v.Processes, judged)
	if i < 0 || len(v.Processes) < 2 {
		return ""
	}
	text := fmt.Sprintf(" It is process %d", v.PID)
	if rank := v.Processes[i].Rank; rank != nil {
		text = fmt.Sprintf(" It is rank %d, process %d", *rank, v.PID)
	}
	if name := v.Processes[i].Name; name != "" {
		text += ", " + nameText(name)
	}
	return text + "."
}

// maxLines is how many processes have a line of their own in the chart: more
// cannot be told apart.
const maxLines = 8

// processesSection tells the processes of a run, the ranks of a job, apart;
// the rest of the report is about the one that gave the verdict.
func processesSection(run *record.Run, v *verdict.Verdict) section {
	s := section{id: "processes", title: "Processes"}
	if len(v.Processes) == 0 {
		return s
	}
	t, c := processesTable(run, v)
	t.dropUnknown()
	if text := livingText(v.Tree); text != "" {
		s.blocks = append(s.blocks, block{text: text})
	}
	if living, ok := livingChart(run); ok {
		s.blocks = append(s.blocks, block{charts: []chart{living}, folded: living.title})
	}
	if run.Samples.Len() > 1 && anyKnown(c.lines[0].v) {
		s.blocks = append(s.blocks, block{charts: []chart{c}, folded: c.title})
	}
	s.blocks = append(s.blocks, block{table: t})
	return s
}

// processesTable has a row a process, and the chart a line for each of the first.
func processesTable(run *record.Run, v *verdict.Verdict) (*table, chart) {
	caption := fmt.Sprintf("The verdict, the accounts and the charts above are of process %d; changes are "+
		"those of its judged window", v.PID)
	t := &table{
		caption: captionOf(caption, len(v.Processes)),
		head: []column{{title: "pid", right: true}, {title: "rank", right: true}, {title: "verdict"},
			{title: "confidence", right: true},
			{title: "host, last", right: true}, {title: "host change", right: true},
			{title: "GPU, last", right: true}, {title: "GPU change", right: true}, {title: "name"}},
	}
	c, rowsOf := chart{id: "processes", axis: axisOf(run), bytes: true}, rowsByPID(run)
	device := slices.ContainsFunc(v.Processes, func(p verdict.ProcessRow) bool {
		return account.ColumnAt(run.Samples, record.ColGPU, rowsOf(p.PID)) != nil
	})
	c.title = map[bool]string{true: "GPU memory by process", false: "Host memory by process"}[device]
	for i, p := range v.Processes[:min(len(v.Processes), maxRows)] {
		rows := rowsOf(p.PID)
		at := account.ColumnAt(run.Samples, record.ColTime, rows)
		host, gpu := footprintAt(run.Samples, rows), account.ColumnAt(run.Samples, record.ColGPU, rows)
		t.rows = append(t.rows, slices.Concat(
			[]string{fmt.Sprint(p.PID), rankText(p.Rank), clean(string(p.Verdict), 40),
				sureText(p.Verdict, p.Tier, p.Confidence)},
			lastAndChange(at, host, v), lastAndChange(at, gpu, v), []string{nameText(p.Name)}))
		if i < maxLines {
			shown := host
			if device {
				shown = gpu
			}
			c.lines = append(c.lines, line{id: fmt.Sprintf("p%d", i), label: fmt.Sprintf("process %d", p.PID),
				v: scattered(shown, rows, run.Samples.Len())})
		}
	}
	return t, c
}

func rankText(rank *int) string {
	if rank == nil {
		return units.Unknown
	}
	return fmt.Sprint(*rank)
}

// nameText is a process's name or its command without the folders of its
// programs: what tells processes apart comes late in a command.
func nameText(name string) string {
	if name == "" {
		return units.Unknown
	}
	words := strings.Fields(name)
	for i, w := range words {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			words[i] = path.Base(w)
		}
	}
	return clean(strings.Join(words, " "), 40)
}

// dropUnknown takes out columns of which no row knows anything.
func (t *table) dropUnknown() {
	for c := len(t.head) - 1; c > 0; c-- {
		if slices.ContainsFunc(t.rows, func(row []string) bool { return row[c] != units.Unknown }) {
			continue
		}
		t.head = slices.Delete(t.head, c, c+1)
		for i := range t.rows {
			t.rows[i] = slices.Delete(t.rows[i], c, c+1)
		}
	}
}

// footprintAt is what a process with these rows costs the host, else its resident set.
func footprintAt(s *record.Samples, rows []int) []float64 {
	if v := account.ColumnAt(s, record.ColFootprint, rows); anyKnown(v) {
		return v
	}
	return account.ColumnAt(s, record.ColRSS, rows)
}

// lastAndChange is a total's last value and its change over the judged window; at are
// the times of its values.
func lastAndChange(at, total []float64, v *verdict.Verdict) []string {
	_, last := ends(total)
	from, to := v.Window.FromMs+v.Window.WarmupMs, v.Window.ToMs
	if m := v.Measured; m != nil && m.FromMs != nil && m.ToMs != nil {
		from, to = *m.FromMs, *m.ToMs
	}
	change, ok := changeBetween(at, total, from, to)
	if !ok {
		return []string{units.Bytes(last), units.Unknown}
	}
	return []string{units.Bytes(last), units.Growth(change)}
}

// scattered puts the values of some rows into their places among n; the others are
// unknown.
func scattered(v []float64, rows []int, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = record.Unknown()
	}
	for i, x := range v {
		out[rows[i]] = x
	}
	return out
}

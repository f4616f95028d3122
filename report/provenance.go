package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// environmentSection is what ran, where and on what.
func environmentSection(run *record.Run) section {
	s := section{id: "environment", title: "Environment", folded: true}
	ps := environmentOf(&run.Meta)
	if text := maskedText(run.Meta.Masked); text != "" {
		ps = append(ps, pair{"masked", text})
	}
	if len(ps) > 0 {
		s.blocks = []block{{pairs: ps}}
	}
	return s
}

// maskedText says in one line what was taken for secrets.
func maskedText(m *record.Masked) string {
	if m == nil || m.Values <= 0 {
		return ""
	}
	const shown = 8
	names := m.Names[:min(len(m.Names), shown)]
	list := clean(strings.Join(names, ", "), maxLine)
	if n := len(m.Names) - len(names); n > 0 {
		list += fmt.Sprintf(" and %s more", units.Count(int64(n)))
	}
	text := "*** stands for what looks like a secret, in " + units.Count(m.Values) + " places"
	if m.Values == 1 {
		text = "*** stands for what looks like a secret, in 1 place"
	}
	if list != "" {
		text += ": " + list
	}
	return text
}

// environmentOf is what run.json says of the environment, and nothing else.
func environmentOf(m *record.Meta) []pair {
	var ps []pair
	add := func(name, value string) {
		if value = clean(value, maxLine); value != "" {
			ps = append(ps, pair{name, value})
		}
	}
	add("command", shellLine(m.Command))
	add("workload", m.Workload)
	add("device", m.Device)
	add("driver", m.Driver)
	if m.UnifiedMemory != nil {
		add("unified memory", map[bool]string{true: "yes: GPU bytes are host memory",
			false: "no: GPU bytes are the device's own"}[*m.UnifiedMemory])
	}
	add("host", m.Host)
	add("system", m.OS)
	for _, k := range sortedKeys(m.CapacityBytes) {
		add("capacity, "+clean(k, maxName), units.Bytes(m.CapacityBytes[k]))
	}
	for _, k := range sortedKeys(m.Versions) {
		add(clean(k, maxName), m.Versions[k])
	}
	if !m.Start.IsZero() {
		add("started", timeText(m.Start))
	}
	if m.End != nil && !m.Start.IsZero() {
		add("ran for", units.Seconds(m.End.Sub(m.Start).Seconds()))
	}
	if m.ExitCode != nil {
		add("exit code", fmt.Sprint(*m.ExitCode))
	}
	add("ended by signal", m.Signal)
	for _, k := range sortedKeys(m.Flags) {
		add("--"+clean(k, maxName), m.Flags[k])
	}
	for _, k := range sortedKeys(m.Env) {
		add("$"+clean(k, maxName), clean(m.Env[k], maxVariable))
	}
	return ps
}

// sortedKeys are the keys of a map from a file, at most maxRows of them.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys[:min(len(keys), maxRows)]
}

// samplingSection is the tool's account of itself.
func samplingSection(run *record.Run, v *verdict.Verdict) section {
	var ps []pair
	add := func(name, value string) { ps = append(ps, pair{name, value}) }
	if n := run.Samples.Len(); n > 0 {
		add("samples", units.Count(int64(n)))
	}
	if run.Meta.IntervalMs > 0 {
		add("interval", units.Seconds(run.Meta.IntervalMs/1000))
	}
	if run.Meta.KeepBytes > 0 {
		add("run folder stays within", units.Bytes(run.Meta.KeepBytes))
	}
	if w := v.Window; w.WarmupMs > 0 && hasTime(run) {
		add("warm-up left out", units.Seconds(w.WarmupMs/1000))
	}
	if h := run.Meta.Sampling; h != nil {
		add("missed", units.Count(h.Missed))
		if h.SkippedRows > 0 {
			add("skipped, over 1,000 a second", units.Count(h.SkippedRows))
		}
		if h.ThinnedRows > 0 {
			add("thinned out of the past", units.Count(h.ThinnedRows))
		}
		if h.LostRows > 0 || h.LostEvents > 0 {
			add("lost in writing", fmt.Sprintf("%s rows, %s events", units.Count(h.LostRows),
				units.Count(h.LostEvents)))
		}
		if h.DroppedByAgent > 0 {
			add("dropped by the agent", units.Count(h.DroppedByAgent))
		}
		add("tracer's own CPU", units.Seconds(h.CPUSeconds))
		if h.RSSBytes > 0 {
			add("tracer's own memory", units.Bytes(h.RSSBytes))
		}
	}
	s := section{id: "sampling", title: "Sampling", folded: true}
	if len(ps) > 0 {
		s.blocks = []block{{pairs: ps}}
	}
	return s
}

func missingSection(v *verdict.Verdict) section {
	s := section{id: "missing", title: "Not measured"}
	var list []string
	for _, m := range v.Missing[:min(len(v.Missing), maxRows)] {
		list = append(list, clean(m, maxLine))
	}
	if v.MoreMinutes != nil {
		list = append(list, fmt.Sprintf("A run longer by %s would settle it.",
			units.Seconds(*v.MoreMinutes*60)))
	}
	if len(list) > 0 {
		s.blocks = []block{{list: list}}
	}
	return s
}

// warningsSection shows the verdict's warnings and the reader's, each once.
func warningsSection(run *record.Run, v *verdict.Verdict) section {
	s := section{id: "warnings", title: "Warnings"}
	seen := map[string]bool{}
	var list []string
	add := func(text string) {
		if text = clean(text, maxLine); text != "" && !seen[text] {
			seen[text] = true
			list = append(list, text)
		}
	}
	for _, w := range v.Warnings {
		add(w)
	}
	for _, w := range run.Warnings {
		if !seen[clean(w.Text, maxLine)] { // the verdict may have taken it over
			add(warningText(w))
		}
	}
	if n := len(list) - maxRows; n > 0 {
		list = append(list[:maxRows], fmt.Sprintf("and %s more", units.Count(int64(n))))
	}
	if len(list) > 0 {
		s.blocks = []block{{list: list}}
	}
	return s
}

// warningText is "file:line: column: text" of what is known.
func warningText(w record.Warning) string {
	var b strings.Builder
	b.WriteString(clean(w.File, maxName))
	if w.Line > 0 {
		fmt.Fprintf(&b, ":%d", w.Line)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if w.Column != "" {
		b.WriteString(clean(w.Column, maxName) + ": ")
	}
	b.WriteString(w.Text)
	return b.String()
}

// reproduceSection is the command line that makes the run again.
func reproduceSection(run *record.Run) section {
	s := section{id: "reproduce", title: "Reproduce"}
	if line := reproduceLine(run); line != "" {
		s.blocks = []block{{code: clean(line, maxLine)}}
	}
	return s
}

// reproduceLine puts run.json's flags and command together again. A recording
// that nobody can repeat from its file is only judged again.
func reproduceLine(run *record.Run) string {
	m := &run.Meta
	words := []string{"gpumem", "run"}
	for _, k := range sortedKeys(m.Flags) {
		words = append(words, "--"+k+"="+m.Flags[k])
	}
	switch {
	case m.Workload != "" && len(m.Command) > 1 && m.Command[0] == "gpumem":
		words = append(words, m.Command[2:]...) // the workload with its own flags
	case m.Workload != "":
		words = append(words, m.Workload)
	case len(m.Command) > 0:
		words = append(append(words, "--"), m.Command...)
	case run.Path != "":
		words[1] = "report"
		words = append(words, run.Path)
	default:
		return ""
	}
	return shellLine(words)
}

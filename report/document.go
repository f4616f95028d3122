package report

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// document is what a report says, in its order, before any format. All its
// strings are clean and none is escaped yet.
//
// lead and claim are the verdict in one sentence, "lead: claim", that a person
// can paste. Every format shows it once: no heading repeats the lead.
type document struct {
	title    string
	class    verdict.Class
	sure     string // "confirmed, 98 %", as much of it as the verdict gives
	claim    string // "memory the program still references grows by …"
	meaning  string // what the class means, for a reader new to it; HTML alone shows it
	note     string // how to read what follows
	grew     bool   // oom is that growth, and has said it
	oom      string // why the program ran out of memory, before everything else
	next     string // what to do first
	facts    []pair // the key figures of the first screen
	anchors  []anchor
	first    *chart // what HTML shows first; nil without two samples
	sections []section
	producer string
}

type section struct {
	id, title string
	blocks    []block
	folded    bool // in HTML: closed, at the page's end
}

// block is one of: a paragraph, a table, a list, a block of code, a list of
// pairs, the place of the charts, or a picture of shares, which only HTML draws
// because the table beside it says the same. A heading may stand before any.
type block struct {
	head   string
	text   string
	table  *table
	list   []string
	code   string
	pairs  []pair
	charts []chart
	icicle *icicle
	// What HTML alone heeds: folded is the summary behind which the block is folded
	// away; a glossary stands at the page's end.
	folded   string
	glossary bool
}

type pair struct{ name, value string }

type table struct {
	caption string
	head    []column
	rows    [][]string
	foot    [][]string // sums and residuals, set off from the rows
	// zeros is what is said of the rows that are all zero, in place of showing them: "No
	// change"; empty where such a row says something. Text and Markdown leave them out
	// only where one column decides.
	zeros string
	name  string // what rows are linked by; empty where nothing leads to them
	// decides is the column that makes a row one of zeros, if it holds 0 B; 0 where
	// all numbers do.
	decides int
}

type column struct {
	title string
	right bool // numbers
}

// newDocument says in words all that run and v hold: the answer, who holds it, where
// it was allocated, what drives it, then the accounts, then how it was measured.
func newDocument(run *record.Run, v *verdict.Verdict, o Options) *document {
	one := ofVerdict(run, v)
	d := answerOf(run, v, o)
	charts := chartsOf(one, v)
	d.anchors = anchorsOf(v)
	d.first = leadOf(v, charts)
	first, then := section{}, peakSection(v)
	if v.Verdict == verdict.None { // nobody has to mend anything: what it is made of is the answer
		first, then = then, first
	}
	for _, s := range []section{ // in the order in which one asks who has to mend it
		oomSection(v),
		leftSection(v),
		first,
		holdersSection(v),
		staysSection(v),
		sitesSection(v),
		clonesSection(v),
		causesSection(v),
		driverSection(v),
		then,
		growthSection(one, v, charts),
		leftoverSection(v),
		statementsSection(run),
		classesSection(run, v),
		experimentsSection(v),
		forecastSection(v),
		processesSection(run, v),
		missingSection(v),
		warningsSection(run, v),
		environmentSection(run),
		samplingSection(run, v),
		reproduceSection(run),
	} {
		if len(s.blocks) > 0 {
			d.sections = append(d.sections, s)
		}
	}
	return d
}

// answerOf is the document without its sections.
func answerOf(run *record.Run, v *verdict.Verdict, o Options) *document {
	d := &document{
		title:    titleOf(run, o),
		class:    verdict.Class(clean(string(v.Verdict), 40)),
		sure:     sureText(v.Verdict, v.Tier, v.Confidence),
		claim:    claimText(v.Claim, cmp.Or(v.Answer, v.Summary)) + inProcess(run, v),
		meaning:  meaningOf(v.Verdict),
		next:     sentenceOf(clean(v.Next, maxLine)),
		facts:    keyFigures(run, v),
		producer: clean(o.Producer, maxName),
	}
	if v.OOM.Ended() {
		d.oom, d.grew = clean(v.Answer, maxSentence), v.OOM.Reason == peak.Growing || v.OOM.Tells(v.Claim)
	}
	return d
}

// lead is the class with how sure it is: "app-leak (confirmed, 98 %)".
func (d *document) lead() string {
	if d.sure == "" {
		return string(d.class)
	}
	return string(d.class) + " (" + d.sure + ")"
}

// grows says whether the sentence on the growth is worth its place below the one on
// what ended the program.
func (d *document) grows() bool {
	return d.oom == "" || !d.grew && d.class != verdict.None && d.class != verdict.Undecided
}

// sentence is the verdict as it can be pasted into a ticket.
func (d *document) sentence() string {
	if d.claim == "" {
		return d.lead() + "."
	}
	return d.lead() + ": " + d.claim
}

// sureText is the tier and the confidence; a tier named like the class, as
// both are when nothing is decided, is said once.
func sureText(class verdict.Class, tier verdict.Tier, confidence float64) string {
	var parts []string
	if tier != "" && string(tier) != string(class) {
		parts = append(parts, clean(string(tier), 40))
	}
	if confidence > 0 && confidence <= 1 {
		parts = append(parts, fmt.Sprintf("%.0f %%", 100*confidence))
	}
	return strings.Join(parts, ", ")
}

// claimText is a claim for a reader; of a verdict that has none apart it is the
// whole sentence.
func claimText(claim, all string) string { return clean(cmp.Or(claim, all), maxSentence) }

// sentenceOf makes a sentence of a piece of advice: with a capital and a full stop.
func sentenceOf(advice string) string {
	if advice == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(advice)
	advice = string(unicode.ToUpper(first)) + advice[size:]
	if !strings.HasSuffix(advice, ".") {
		advice += "."
	}
	return advice
}

func titleOf(run *record.Run, o Options) string {
	name := o.Title
	switch {
	case name != "":
	case run.Meta.Workload != "":
		name = run.Meta.Workload
	case len(run.Meta.Command) > 0:
		name = programOf(run.Meta.Command)
	case run.Path != "":
		name = base(run.Path)
	}
	return clean(name, 80)
}

// base is the last element of a path of any system.
func base(p string) string {
	const limit = 4096
	return path.Base(strings.ReplaceAll(p[max(len(p)-limit, 0):], `\`, "/"))
}

// interpreters name programs whose first argument is what people call the
// program.
var interpreters = [...]string{"python", "node", "bash", "sh", "ruby", "perl", "julia"}

// programOf is the command in a word: its file, or an interpreter's script.
func programOf(command []string) string {
	name := base(command[0])
	if len(command) < 2 || command[1] == "" || command[1][0] == '-' {
		return name
	}
	for _, i := range interpreters {
		if strings.TrimRight(name, "0123456789.") == i {
			return base(command[1])
		}
	}
	return name
}

// meaningOf explains a class to somebody who meets it for the first time.
func meaningOf(c verdict.Class) string {
	switch c {
	case verdict.AppLeak:
		return "What grows is memory that the program itself still references."
	case verdict.PoolGrowth:
		return "What grows is memory that the program's pool keeps although nobody references it."
	case verdict.DriverGrowth:
		return "What grows is memory that the driver holds for the process, outside of what the program " +
			"and its pool know of."
	case verdict.HostGrowth:
		return "What grows is host memory, outside of what the GPU accounts explain."
	case verdict.Undecided:
		return "This run does not settle whose memory grows."
	}
	return ""
}

// keyFigures are the numbers a reader wants before any table.
func keyFigures(run *record.Run, v *verdict.Verdict) []pair {
	var out []pair
	add := func(name, value string) { out = append(out, pair{name, value}) }
	if v.Measured != nil {
		add("all accounts", units.Growth(float64(v.Measured.Bytes)))
	}
	if row := primaryRow(v); row != nil {
		name := string(row.Account)
		if row.PerStep != nil {
			add(name+" a step", units.Growth(row.PerStep.Value))
		}
		if row.PerSecond != nil {
			add(name+" a second", units.Growth(row.PerSecond.Value))
		}
		if row.LeftoverBytes != nil {
			add(name+" left over", units.Growth(float64(*row.LeftoverBytes)))
		}
	}
	if f := v.Forecast; f != nil {
		add(clean(f.Limit, 40)+" full in", units.Seconds(f.P50))
	}
	if n := len(v.Processes); n > 1 {
		add("process", fmt.Sprintf("%d, one of %s", v.PID, units.Count(int64(n))))
	}
	if v.Window.Samples == 0 {
		return out
	}
	judged := windowText(run, v)
	if v.RestsOn != "" {
		judged += ", by " + clean(string(v.RestsOn), 40)
	}
	add("judged", judged)
	return out
}

// primaryRow is the account the verdict speaks of.
func primaryRow(v *verdict.Verdict) *verdict.AccountRow {
	want := map[verdict.Class][]verdict.Account{
		verdict.AppLeak:      {verdict.Live},
		verdict.PoolGrowth:   {verdict.Idle},
		verdict.DriverGrowth: {verdict.Untracked, verdict.Host},
		verdict.HostGrowth:   {verdict.Host},
	}[v.Verdict]
	var best *verdict.AccountRow
	for _, a := range want {
		for i := range v.Accounts {
			row := &v.Accounts[i]
			if row.Account == a && (best == nil || bytesOf(row) > bytesOf(best)) {
				best = row
			}
		}
	}
	return best
}

func bytesOf(row *verdict.AccountRow) int64 {
	switch {
	case row.Bytes != nil:
		return *row.Bytes
	case row.LeftoverBytes != nil:
		return *row.LeftoverBytes
	}
	return 0
}

// windowText says how much was judged: samples, time and steps.
func windowText(run *record.Run, v *verdict.Verdict) string {
	w := v.Window
	parts := []string{units.Count(int64(w.Samples)) + " samples"}
	if w.Samples == 1 {
		parts[0] = "1 sample"
	}
	if hasTime(run) && w.ToMs > w.FromMs {
		parts = append(parts, units.Seconds((w.ToMs-w.FromMs)/1000))
	}
	if w.Steps > 0 {
		parts = append(parts, units.Count(w.Steps)+" steps")
	}
	return strings.Join(parts, ", ")
}

package selftest

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
)

// Result is how a check ended.
type Result string

// The results. Only Wrong is a fault.
const (
	OK      Result = "ok"
	Wrong   Result = "wrong"
	Absent  Result = "absent"  // cannot work here
	Unknown Result = "unknown" // could not be compared
)

// Check is one line of the report. Figures are bytes.
type Check struct {
	Group    string `json:"group"`
	Check    string `json:"check"`
	Result   Result `json:"result"`
	Expected *int64 `json:"expected_bytes,omitempty"`
	Found    *int64 `json:"found_bytes,omitempty"`
	Text     string `json:"text,omitempty"`
}

// Report is what was found. Its fields are its JSON.
type Report struct {
	Schema  int               `json:"schema"`
	Version string            `json:"gpumem"`
	Go      string            `json:"go"`
	System  map[string]string `json:"system"`
	At      time.Time         `json:"at"`
	OK      bool              `json:"ok"`
	Counts  map[Result]int    `json:"counts"`
	Checks  []Check           `json:"checks"`

	current string // the group of the checks to come
}

func newReport(version string) *Report {
	system := systemFacts()
	system["platform"] = runtime.GOOS + "/" + runtime.GOARCH
	system["processors"] = fmt.Sprint(runtime.NumCPU())
	if loadsNothing() {
		system["build"] = "without GPU drivers (" + nodlTag + ")"
	}
	return &Report{
		Schema: 1, Version: version, Go: runtime.Version(), System: system,
		At: time.Now().UTC().Truncate(time.Second),
		OK: true, Counts: map[Result]int{}, Checks: []Check{},
	}
}

// nodlTag is the build tag that leaves out whatever loads a library.
const nodlTag = "nodl"

// loadsNothing reports whether this program was built with it.
func loadsNothing() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.ContainsFunc(info.Settings, func(s debug.BuildSetting) bool {
		return s.Key == "-tags" && slices.Contains(strings.Split(s.Value, ","), nodlTag)
	})
}

func (r *Report) group(name string) { r.current = name }

func (r *Report) add(c Check) {
	c.Group = r.current
	r.Checks = append(r.Checks, c)
	r.Counts[c.Result]++
	r.OK = r.OK && c.Result != Wrong
}

// outcome adds a check that an error decides.
func (r *Report) outcome(check string, err error, text string) {
	c := Check{Check: check, Result: OK, Text: text}
	if err != nil {
		c.Result, c.Text = Wrong, err.Error()
	}
	r.add(c)
}

// Count is how many checks ended so.
func (r *Report) Count(result Result) int { return r.Counts[result] }

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error { return plain.WriteJSON(w, r) }

// Text writes the report for people and tickets.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "gpumem selftest · %s · %s · %s\n", r.Version, r.Go, r.At.Format("2006-01-02 15:04 UTC"))
	var facts []string
	for _, name := range []string{"platform", "os", "model", "chip", "build"} {
		if v := r.System[name]; v != "" {
			facts = append(facts, plain.Shown(v))
		}
	}
	plain.Wrap(&b, "", "  ", strings.Join(facts, " · ")+" · "+r.System["processors"]+" processors")
	group := ""
	for i, c := range r.Checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n%s\n", plain.Shown(group))
			r.table(&b, r.Checks[i:], group)
		}
	}
	fmt.Fprintf(&b, "\n%s, %d wrong, %d not here, %d not compared\n",
		units.Counted(r.Count(OK), "check is ok", "checks are ok"),
		r.Count(Wrong), r.Count(Absent), r.Count(Unknown))
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes the checks of one group; what they say stands below when it does
// not fit beside them.
func (r *Report) table(b *strings.Builder, checks []Check, group string) {
	for _, c := range checks {
		if c.Group != group {
			return
		}
		line := fmt.Sprintf("  %-7s  %-34s", c.Result, plain.Shown(c.Check))
		if c.Expected != nil || c.Found != nil {
			line += fmt.Sprintf("  %10s", signedSize(c.Found))
		}
		if c.Expected != nil {
			line += " of " + signedSize(c.Expected)
		}
		text := plain.Shown(c.Text)
		if text != "" && plain.Cells(line)+2+plain.Cells(text) <= plain.Width {
			line, text = line+"  "+text, ""
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if text != "" {
			plain.Wrap(b, "           ", "           ", text)
		}
	}
}

// signedSize is plain.Size for a difference.
func signedSize(v *int64) string {
	switch {
	case v == nil:
		return plain.Dash
	case *v < 0:
		return "−" + plain.Size(-*v)
	}
	return plain.Size(*v)
}

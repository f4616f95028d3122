package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// selftestResult is how a check ended.
type selftestResult string

// The results. Only wrong ones make the exit code 1.
const (
	okResult      selftestResult = "ok"
	wrongResult   selftestResult = "wrong"
	absentResult  selftestResult = "absent"  // cannot work here
	unknownResult selftestResult = "unknown" // could not be compared
)

// selftestCheck is one line of the report. Figures are bytes.
type selftestCheck struct {
	Group    string         `json:"group"`
	Check    string         `json:"check"`
	Result   selftestResult `json:"result"`
	Expected *int64         `json:"expected_bytes,omitempty"`
	Found    *int64         `json:"found_bytes,omitempty"`
	Text     string         `json:"text,omitempty"`
}

// selftestReport is what selftest prints.
type selftestReport struct {
	Schema  int                    `json:"schema"`
	Version string                 `json:"gpumem"`
	Go      string                 `json:"go"`
	System  map[string]string      `json:"system"`
	At      time.Time              `json:"at"`
	OK      bool                   `json:"ok"`
	Counts  map[selftestResult]int `json:"counts"`
	Checks  []selftestCheck        `json:"checks"`

	current string // the group of the checks to come
}

func newSelftestReport() *selftestReport {
	system := systemFacts()
	system["platform"] = runtime.GOOS + "/" + runtime.GOARCH
	system["processors"] = fmt.Sprint(runtime.NumCPU())
	if loadsNothing() {
		system["build"] = "without GPU drivers (" + nodlTag + ")"
	}
	return &selftestReport{
		Schema: 1, Version: version(), Go: runtime.Version(), System: system, At: time.Now().UTC().Truncate(time.Second),
		OK: true, Counts: map[selftestResult]int{}, Checks: []selftestCheck{},
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

func (r *selftestReport) group(name string) { r.current = name }

func (r *selftestReport) add(c selftestCheck) {
	c.Group = r.current
	r.Checks = append(r.Checks, c)
	r.Counts[c.Result]++
	r.OK = r.OK && c.Result != wrongResult
}

// outcome adds a check that an error decides.
func (r *selftestReport) outcome(check string, err error, text string) {
	c := selftestCheck{Check: check, Result: okResult, Text: text}
	if err != nil {
		c.Result, c.Text = wrongResult, err.Error()
	}
	r.add(c)
}

func (r *selftestReport) count(result selftestResult) int { return r.Counts[result] }

func (r *selftestReport) json(w io.Writer) error { return writeIndented(w, r) }

// text writes the report for people and tickets.
func (r *selftestReport) text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "gpumem selftest · %s · %s · %s\n", r.Version, r.Go, r.At.Format("2006-01-02 15:04 UTC"))
	var facts []string
	for _, name := range []string{"platform", "os", "model", "chip", "build"} {
		if v := r.System[name]; v != "" {
			facts = append(facts, shown(v))
		}
	}
	wrapped(&b, "", "  ", strings.Join(facts, " · ")+" · "+r.System["processors"]+" processors")
	group := ""
	for i, c := range r.Checks {
		if c.Group != group {
			group = c.Group
			fmt.Fprintf(&b, "\n%s\n", shown(group))
			r.table(&b, r.Checks[i:], group)
		}
	}
	fmt.Fprintf(&b, "\n%s, %d wrong, %d not here, %d not compared\n", plural(r.count(okResult), "check is ok", "checks are ok"),
		r.count(wrongResult), r.count(absentResult), r.count(unknownResult))
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes the checks of one group; what they say stands below when it does
// not fit beside them.
func (r *selftestReport) table(b *strings.Builder, checks []selftestCheck, group string) {
	for _, c := range checks {
		if c.Group != group {
			return
		}
		line := fmt.Sprintf("  %-7s  %-34s", c.Result, shown(c.Check))
		if c.Expected != nil || c.Found != nil {
			line += fmt.Sprintf("  %10s", signedSize(c.Found))
		}
		if c.Expected != nil {
			line += " of " + signedSize(c.Expected)
		}
		text := shown(c.Text)
		if text != "" && cellsOf(line)+2+cellsOf(text) <= lineWidth {
			line, text = line+"  "+text, ""
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		if text != "" {
			wrapped(b, "           ", "           ", text)
		}
	}
}

// signedSize is sizeText for a difference.
func signedSize(v *int64) string {
	switch {
	case v == nil:
		return dash
	case *v < 0:
		return "−" + sizeText(-*v)
	}
	return sizeText(*v)
}

package export

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// The elements of a JUnit report, of those that the readers of CI systems agree
// on: https://github.com/windyroad/JUnit-Schema.
type junitSuites struct {
	XMLName xml.Name     `xml:"testsuites"`
	Suites  []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	ID         int             `xml:"id,attr"`
	Package    string          `xml:"package,attr"`
	Name       string          `xml:"name,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Hostname   string          `xml:"hostname,attr"` // localhost when it is not known
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	SystemOut  string          `xml:"system-out"`
	SystemErr  string          `xml:"system-err"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Classname string        `xml:"classname,attr"`
	Name      string        `xml:"name,attr"`
	Time      string        `xml:"time,attr"`
	Skipped   *junitSkipped `xml:"skipped,omitempty"`
	Failure   *junitFailure `xml:"failure,omitempty"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junitAccounts are the test cases: an account does not grow.
var junitAccounts = [...]struct {
	account verdict.Account
	class   verdict.Class
	name    string
}{
	{verdict.Live, verdict.AppLeak, "live memory does not grow"},
	{verdict.Idle, verdict.PoolGrowth, "idle memory of the pool does not grow"},
	{verdict.Untracked, verdict.DriverGrowth, "the driver's memory does not grow"},
	{verdict.Host, verdict.HostGrowth, "host memory does not grow"},
}

// writeJUnit writes a test case an account. The account that the verdict names
// fails, all others pass if they were judged; an account that was not, and
// every one of an undecided run, is skipped, since it is not known to be good.
func writeJUnit(w io.Writer, run *record.Run, v *verdict.Verdict) error {
	took := secondsOf(run)
	suite := junitSuite{Package: "gpumem", Name: nameOf(run), Hostname: "localhost", Time: took,
		SystemOut: bounded(v.Summary)}
	if run.Meta.Host != "" {
		suite.Hostname = bounded(run.Meta.Host)
	}
	if !run.Meta.Start.IsZero() {
		suite.Timestamp = run.Meta.Start.UTC().Format("2006-01-02T15:04:05")
	}
	suite.Properties = []junitProperty{
		{"verdict", string(v.Verdict)}, {"tier", string(v.Tier)},
		{"confidence", fmt.Sprintf("%.3f", v.Confidence)},
		{"device", bounded(run.Meta.Device)},
	}
	for _, a := range junitAccounts {
		c := junitCase{Classname: nameOf(run), Name: a.name, Time: took}
		switch {
		case v.Verdict == a.class:
			c.Failure = &junitFailure{Type: string(v.Verdict), Message: bounded(v.Summary),
				Text: failureText(run, v)}
			suite.Failures++
		case v.Verdict == verdict.Undecided:
			c.Skipped = &junitSkipped{bounded(v.Summary)}
			suite.Skipped++
		case !judged(v, a.account):
			c.Skipped = &junitSkipped{"not judged: the run has no data on it"}
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, c)
		suite.Tests++
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(junitSuites{Suites: []junitSuite{suite}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// judged reports whether the verdict says of an account how it moves.
func judged(v *verdict.Verdict, account verdict.Account) bool {
	for _, a := range v.Accounts {
		if a.Account == account && (a.Shape != trend.ShapeUndecided || a.LeftoverBytes != nil) {
			return true
		}
	}
	return false
}

// secondsOf is how long the run took; the format wants a number always, and of
// a run without times 0 is what readers take for unknown.
func secondsOf(run *record.Run) string {
	switch {
	case run.Meta.End != nil && !run.Meta.Start.IsZero():
		return fmt.Sprintf("%.3f", run.Meta.End.Sub(run.Meta.Start).Seconds())
	case len(run.Samples.Column(record.ColTime)) > 0:
		ms := run.Samples.Column(record.ColTime)
		if d := ms[len(ms)-1] - ms[0]; d > 0 {
			return fmt.Sprintf("%.3f", d/1000)
		}
	}
	return "0"
}

// failureText is the evidence in short: causes, sites and holders.
func failureText(run *record.Run, v *verdict.Verdict) string {
	var b strings.Builder
	b.WriteString(bounded(v.Summary) + "\n")
	for _, c := range v.Causes {
		fmt.Fprintf(&b, "\ncause: %s (%.2f)\n", bounded(c.ID), c.Confidence)
		for _, e := range c.Evidence {
			b.WriteString("  " + bounded(e) + "\n")
		}
		if c.Next != "" {
			b.WriteString("  next: " + bounded(c.Next) + "\n")
		}
	}
	for i, s := range sitesOf(run, v) {
		if i == 0 {
			b.WriteString("\nsurvivors by allocation site\n")
		}
		if i == mostSites {
			break
		}
		fmt.Fprintf(&b, "  %d bytes in %d  %s\n", s.Bytes, s.Count, bounded(s.Site))
	}
	for i, h := range v.Holders {
		if i == 0 {
			b.WriteString("\nheld by\n")
		}
		if i == mostSites {
			break
		}
		fmt.Fprintf(&b, "  %d bytes in %d  %s\n", h.Bytes, h.Count, bounded(h.String()))
	}
	return b.String()
}

// mostSites is how many sites a finding names.
const mostSites = 10

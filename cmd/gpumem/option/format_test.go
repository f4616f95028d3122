package option

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/report"
)

func TestTheFormatIsWhatIsSaidElseWhatTheNameOfTheFileEndsIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file  string
		flags []string
		want  report.Format
	}{
		{"", nil, report.Text},
		{"-", nil, report.Text},
		{"answer", nil, report.Text},
		{"answer.txt", nil, report.Text},
		{"/dev/stderr", nil, report.Text},
		{"a.html.txt", nil, report.Text},
		{"answer.html", nil, report.HTML},
		{"ANSWER.HTM", nil, report.HTML},
		{"answer.json", nil, report.JSON},
		{"dir/answer.csv", nil, report.CSV},
		{"answer.md", nil, report.Markdown},
		{"peak.pb.gz", nil, report.PProf},
		{"answer.html", []string{"--format", "text"}, report.Text},
		{"answer.html", []string{"--json"}, report.JSON},
		{"", []string{"--format=markdown"}, report.Markdown},
	} {
		var f Format
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Add(flags, "text")
		if err := flags.Parse(c.flags); err != nil {
			t.Fatal(err)
		}
		got, err := f.For(c.file)
		if err != nil || got != c.want {
			t.Errorf("%q %q: %q, %v; want %q", c.file, c.flags, got, err, c.want)
		}
		if f.Given() != (len(c.flags) > 0) {
			t.Errorf("%q: given %v", c.flags, f.Given())
		}
	}
}

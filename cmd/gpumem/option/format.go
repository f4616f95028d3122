package option

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report"
)

// Format is how an answer is written: as --format says, as JSON with --json, else as
// the name of the file ends that -o names, else as text. The zero value is ready.
type Format struct {
	name string
	json bool
}

// Add defines --format and --json; formats names those that the command writes.
func (f *Format) Add(flags *pflag.FlagSet, formats string) {
	flags.StringVar(&f.name, "format", f.name, formats+" (default: by the extension of the -o file, else text)")
	flags.BoolVar(&f.json, "json", f.json, "the same as --format json")
}

// Given reports whether a flag says the format.
func (f *Format) Given() bool { return f.json || f.name != "" }

// For is the format of what goes to that file. The error is for a name that is none.
func (f *Format) For(file string) (report.Format, error) {
	switch {
	case f.json:
		return report.JSON, nil
	case f.name == "":
		return formatOfFile(file), nil
	}
	format, err := report.ParseFormat(f.name)
	if err != nil {
		return "", usage.Errorf("--format %s: no such format%s", f.name, usage.Suggest(f.name, FormatNames()))
	}
	return format, nil
}

// formatOfFile is the format that a file of that name is expected to have. What pprof
// reads is compressed, and Go names it so.
func formatOfFile(name string) report.Format {
	for _, known := range []struct {
		format report.Format
		ends   []string
	}{
		{report.HTML, []string{".html", ".htm"}},
		{report.JSON, []string{".json"}},
		{report.CSV, []string{".csv"}},
		{report.Markdown, []string{".md", ".markdown"}},
		{report.PProf, []string{".pb.gz", ".pprof"}},
	} {
		for _, end := range known.ends {
			if strings.HasSuffix(strings.ToLower(name), end) {
				return known.format
			}
		}
	}
	return report.Text
}

// FormatNames are the values that --format takes.
func FormatNames() (names []string) {
	for _, f := range report.Formats() {
		names = append(names, string(f))
	}
	return names
}

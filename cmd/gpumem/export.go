package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report/export"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/importer"
)

// exportFlags are the flags of `gpumem export`.
type exportFlags struct {
	to      string
	output  string
	force   bool
	root    string
	of      string
	judging option.Judging
}

func newExportCommand(std stdio) *cobra.Command {
	f := exportFlags{judging: option.DefaultJudging()}
	cmd := &cobra.Command{
		Use:   "export DIR --to FORMAT",
		Short: "Write a run for another tool",
		Long: `export writes a run folder, a CSV or a log that gpumem reads in the format of
another tool:

` + exportsText() + `
It goes to stdout, or to the file of -o. What a format asks for and the run does
not have is left out; nothing is made up.`,
		Example: `  gpumem export gpumem-train-20261120T120000Z --to memory_viz -o snapshot.pickle
  gpumem export DIR --to pprof -o mem.pb.gz && go tool pprof -top mem.pb.gz
  gpumem export DIR --to pprof --of peak -o peak.pb.gz && go tool pprof -tags peak.pb.gz
  gpumem export DIR --to speedscope -o peak.speedscope.json && npx speedscope peak.speedscope.json
  gpumem export DIR --to junit -o junit.xml
  gpumem export DIR --to parquet | duckdb -c "from read_parquet('/dev/stdin')"`,
		Args: usage.Exactly(1, "one run"),
		RunE: func(_ *cobra.Command, args []string) error { return exportPath(std, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "the format: "+strings.Join(exportNames(), ", "))
	flags.StringVarP(&f.output, "output", "o", "", output.Help)
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	flags.StringVar(&f.root, "source-root", "",
		"folder that the paths in sarif are relative to (default the current one)")
	flags.StringVar(&f.of, "of", "",
		"what folded, speedscope and pprof show of the profiled window: peak (what lived then; the "+
			"default), or window (all that its steps allocated)")
	f.judging.Add(flags)
	complete(cmd, "to", exportNames())
	complete(cmd, "of", []string{string(export.OfPeak), string(export.OfWindow)})
	return cmd
}

func exportNames() []string {
	var names []string
	for _, k := range export.Formats() {
		names = append(names, string(k.Format))
	}
	return names
}

func exportsText() string {
	var b strings.Builder
	for _, k := range export.Formats() {
		fmt.Fprintf(&b, "  %-12s %s\n", k.Format, k.About)
	}
	return b.String()
}

// exportFormat is the value of --to.
func exportFormat(name string) (export.Known, error) {
	if name == "" {
		return export.Known{}, usagef("export takes --to with a format%s", usage.Suggest("", exportNames()))
	}
	for _, k := range export.Formats() {
		if string(k.Format) == name {
			return k, nil
		}
	}
	return export.Known{}, usagef("--to %s: no such format%s", name, usage.Suggest(name, exportNames()))
}

func exportPath(std stdio, f exportFlags, path string) error {
	to, err := exportFormat(f.to)
	if err != nil {
		return err
	}
	judging, err := f.judging.Options()
	if err != nil {
		return err
	}
	of := export.Of(f.of)
	if of != "" && of != export.OfPeak && of != export.OfWindow {
		return usagef("--of %s: must be peak or window", f.of)
	}
	if output.ToStdout(f.output) && to.Binary && tty.Is(std.out) {
		return usagef("%s is not text: name a file with -o", to.Format)
	}
	if f.root == "" {
		f.root, _ = os.Getwd() // without it paths stay as they are
	}
	run, err := answers.Open(path, importer.Options{})
	if err != nil {
		return err
	}
	v := verdict.Judge(run, judging)
	write := func(w io.Writer) error {
		o := export.Options{Version: version(), SourceRoot: f.root, Of: of}
		return export.Write(w, to.Format, run, v, o)
	}
	if output.ToStdout(f.output) {
		return write(std.out)
	}
	return output.Write(std.out, f.output, f.force, write)
}

package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

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
	judging judgingFlags
}

func newExportCommand(std stdio) *cobra.Command {
	f := exportFlags{judging: defaultJudgingFlags()}
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
  gpumem export DIR --to junit -o junit.xml
  gpumem export DIR --to parquet | duckdb -c "from read_parquet('/dev/stdin')"`,
		Args: exactly(1, "one run"),
		RunE: func(_ *cobra.Command, args []string) error { return exportPath(std, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "the format: "+strings.Join(exportNames(), ", "))
	flags.StringVarP(&f.output, "output", "o", "", outputHelp)
	flags.BoolVar(&f.force, "force", false, "overwrite the output file")
	flags.StringVar(&f.root, "source-root", "",
		"folder that lines of source are told relative to, in sarif (default the current one)")
	f.judging.add(flags)
	complete(cmd, "to", exportNames())
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
		return export.Known{}, usagef("export takes --to with a format%s", suggest("", exportNames()))
	}
	for _, k := range export.Formats() {
		if string(k.Format) == name {
			return k, nil
		}
	}
	return export.Known{}, usagef("--to %s: no such format%s", name, suggest(name, exportNames()))
}

func exportPath(std stdio, f exportFlags, path string) error {
	to, err := exportFormat(f.to)
	if err != nil {
		return err
	}
	judging, err := f.judging.options()
	if err != nil {
		return err
	}
	if toStdout(f.output) && to.Binary && isTerminal(std.out) {
		return usagef("%s is no text: name a file with -o", to.Format)
	}
	if f.root == "" {
		f.root, _ = os.Getwd() // without it paths stay as they are
	}
	run, err := openRun(path, importer.Options{})
	if err != nil {
		return err
	}
	v := verdict.Judge(run, judging)
	write := func(w io.Writer) error {
		return export.Write(w, to.Format, run, v, export.Options{Version: version(), SourceRoot: f.root})
	}
	if toStdout(f.output) {
		return write(std.out)
	}
	return writeOutput(std, f.output, f.force, write)
}

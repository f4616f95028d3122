package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/cmd/gpumem/option"
	"github.com/gpumem/gpumem/cmd/gpumem/output"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/importer"
)

func newDiffCommand(std stdio, getenv func(string) string) *cobra.Command {
	f := reportFlags{judging: option.DefaultJudging()}
	cmd := &cobra.Command{
		Use:   "diff BASE NEW",
		Short: "Say what changed from one run to another, with noise marked",
		Long: `diff compares two run folders, CSVs or logs: the growth of each account in NEW
beyond BASE, aligned by step where both have steps, with its 95 % interval; "~"
is within noise. Where both have a profiled window or ran out of memory, what live
memory was made of is compared too: what grew, what came, what went. With
--fail-on the verdict on the difference is the exit code.`,
		Example: `  gpumem diff gpumem-main gpumem-branch
  gpumem diff main.csv branch.csv --fail-on any --format markdown
  gpumem diff gpumem-main gpumem-branch -o diff.html`,
		Args: usage.Exactly(2, "two runs"),
		RunE: func(_ *cobra.Command, args []string) error {
			return diffPaths(std, getenv, f, args[0], args[1])
		},
	}
	f.addOutput(cmd.Flags(), "text, json, html or markdown")
	f.redact.Add(cmd.Flags(), "take out names, paths, command lines and environments")
	f.judging.Add(cmd.Flags())
	return cmd
}

func diffPaths(std stdio, getenv func(string) string, f reportFlags, base, new string) error {
	format, err := f.format.For(f.output)
	if err != nil {
		return err
	}
	if !slices.Contains(report.DiffFormats(), format) {
		return usagef("diff writes text, json, html or markdown, not %s", format)
	}
	fail, err := option.ParseFailOn(f.failOn)
	if err != nil {
		return err
	}
	judging, err := f.judging.Options()
	if err != nil {
		return err
	}
	a, b, err := twoSides(f, base, new)
	if err != nil {
		return err
	}
	d := verdict.Diff(a.Run, b.Run, judging)
	o := report.Options{Producer: producer()}
	if output.ToStdout(f.output) {
		o.Color, o.Width = tty.WantColor(std.out, getenv), tty.TextWidth(std.out)
		err = report.WriteDiff(std.out, format, a, b, d, o)
	} else {
		err = output.Write(std.out, f.output, f.force, func(w io.Writer) error {
			return report.WriteDiff(w, format, a, b, d, o)
		})
	}
	if err != nil {
		return err
	}
	if code := fail.Code(d.Verdict); code != exitDone {
		return &codeError{code}
	}
	return nil
}

// twoSides reads the runs to be compared, without names if that is asked for.
func twoSides(f reportFlags, base, new string) (a, b report.Side, err error) {
	if err := f.redact.Check(); err != nil {
		return a, b, err
	}
	a, b = report.Side{Name: base}, report.Side{Name: new}
	for _, side := range []*report.Side{&a, &b} {
		if side.Run, err = answers.Open(side.Name, importer.Options{}); err != nil {
			return a, b, err
		}
	}
	if redact := f.redact.Redactor(bundledWords()...); redact != nil {
		a, b = report.Side{Name: "base", Run: redact.Run(a.Run)},
			report.Side{Name: "new", Run: redact.Run(b.Run)}
	}
	return a, b, nil
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/folders"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

func newLsCommand(std stdio) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ls [DIR]",
		Short: "List the recordings here",
		Long: `ls lists the run folders in a folder, this one by default, the newest first:
when each began, how long it ran, what it takes on the disk, and its verdict.`,
		Example: `  gpumem ls
  gpumem ls runs --json`,
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			list, err := folders.In(folderOf(args))
			if err != nil {
				return err
			}
			if asJSON {
				return plain.WriteJSON(std.out, list)
			}
			return listRecordings(std, list, folderOf(args))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "a list for programs")
	return cmd
}

// atMostOne is for a command that takes a folder, or none for this one.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one folder, or none for this one; see gpumem %s --help",
			cmd.Name(), cmd.Name())
	}
	return nil
}

func folderOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

func listRecordings(std stdio, list []folders.Recording, dir string) error {
	if len(list) == 0 {
		_, err := fmt.Fprintf(std.err, "gpumem: no recordings in %s\n", dir)
		return err
	}
	table := plain.NewTable(plain.Left("RECORDING"), plain.Left("STARTED"), plain.Right("RAN"),
		plain.Right("SIZE"), plain.Left("VERDICT"))
	for _, r := range list {
		ran := plain.Dash
		if r.Seconds != nil {
			ran = time.Duration(*r.Seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
		}
		table.Add(plain.Shown(r.Path), r.Start.Local().Format("2006-01-02 15:04:05"), ran,
			plain.Size(r.Bytes), cmp.Or(plain.Shown(string(r.Verdict)), plain.Dash))
	}
	var b strings.Builder
	table.Write(&b, "")
	_, err := io.WriteString(std.out, b.String())
	return err
}

func newCleanCommand(std stdio) *cobra.Command {
	var older string
	var yes bool
	cmd := &cobra.Command{
		Use:   "clean [DIR]",
		Short: "Remove old recordings",
		Long: `clean removes the run folders in a folder, this one by default, that ended
longer ago than --older. It asks first on a terminal, and needs --yes without one.
Files that gpumem has not written stay, and the folder with them.`,
		Example: `  gpumem clean --older 7d
  gpumem clean runs --older 12h --yes`,
		Args: atMostOne,
		RunE: func(_ *cobra.Command, args []string) error {
			age, err := parseAge(older)
			if err != nil {
				return err
			}
			return clean(std, folderOf(args), time.Now().Add(-age), yes)
		},
	}
	cmd.Flags().StringVar(&older, "older", "7d", "remove what ended longer ago, as 12h or 7d")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// parseAge reads a duration that may be in days.
func parseAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseFloat(days, 64)
		if err == nil && n >= 0 && n <= 36500 {
			return time.Duration(n * 24 * float64(time.Hour)), nil
		}
	}
	if age, err := time.ParseDuration(text); err == nil && age >= 0 {
		return age, nil
	}
	return 0, usagef("--older %s: must be an age, as 12h or 7d", text)
}

// clean removes the recordings in dir that ended before limit. One that has no end
// may still run, and stays.
func clean(std stdio, dir string, limit time.Time, yes bool) error {
	list, err := folders.In(dir)
	if err != nil {
		return err
	}
	var bytes int64
	list = slices.DeleteFunc(list, func(r folders.Recording) bool {
		ended := r.Seconds != nil && r.Start.Add(time.Duration(*r.Seconds*float64(time.Second))).Before(limit)
		if ended {
			bytes += r.Bytes
		}
		return !ended
	})
	if len(list) == 0 {
		_, err := fmt.Fprintf(std.err, "gpumem: no recording in %s ended longer ago\n", dir)
		return err
	}
	what := fmt.Sprintf("%s, %s", units.Counted(len(list), "recording", "recordings"), plain.Size(bytes))
	if !yes {
		if !tty.Is(std.in) || !tty.Is(std.err) {
			return usagef("clean would remove %s; confirm with --yes", what)
		}
		fmt.Fprintf(std.err, "remove %s, from %s to %s? [y/N] ", what, list[len(list)-1].Path, list[0].Path)
		var answer string
		fmt.Fscanln(std.in, &answer)
		if !strings.EqualFold(answer, "y") && !strings.EqualFold(answer, "yes") {
			return errors.New("nothing was removed")
		}
	}
	var failed []error
	for _, r := range list {
		failed = append(failed, record.Remove(r.Path))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.err, "gpumem: removed %s\n", what)
	return err
}

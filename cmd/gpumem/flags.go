package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError turns a flag the parser refused into one line of usage error that
// names the nearest flag.
func flagError(cmd *cobra.Command, err error) error {
	return flagErrorOf(cmd.Flags(), err)
}

func flagErrorOf(flags *pflag.FlagSet, err error) error {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "unknown flag: --")
	if !unknown {
		return usagef("%s", text)
	}
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	near := suggest(name, known)
	if strings.HasPrefix(near, "; one of") {
		near = "; see --help"
	}
	return usagef("unknown flag --%s%s", name, strings.Replace(near, `"`, `"--`, 1))
}

// exactly is cobra.ExactArgs in the words of this program.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%s takes %s; see gpumem %s --help", cmd.Name(), what, cmd.Name())
		}
		return nil
	}
}

// byteSize is a flag value in bytes, written "1MiB", "64KiB", "4096".
type byteSize int64

func (b *byteSize) String() string { return formatByteSize(int64(*b)) }
func (b *byteSize) Type() string   { return "size" }
func (b *byteSize) Set(s string) error {
	v, err := parseByteSize(s)
	*b = byteSize(v)
	return err
}

package usage

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// OfFlag turns the parser's refusal of a flag into an [Error] that names the nearest
// of flags.
func OfFlag(flags *pflag.FlagSet, err error) error {
	text := err.Error()
	name, unknown := strings.CutPrefix(text, "unknown flag: --")
	if !unknown {
		if value, rest, ok := strings.Cut(strings.TrimPrefix(text, `invalid argument "`), `" for "`); ok &&
			strings.Contains(rest, "time: missing unit") {
			flag, _, _ := strings.Cut(rest, `"`)
			return Errorf("%s %s: needs a unit, as in %s %ss", flag, value, flag, value)
		}
		return Errorf("%s", text)
	}
	var known []string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	near := Suggest(name, known)
	if strings.HasPrefix(near, "; one of") {
		near = "; see --help"
	}
	return Errorf("unknown flag --%s%s", name, strings.Replace(near, `"`, `"--`, 1))
}

// Exactly is cobra.ExactArgs in the words of this program.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return Errorf("%s takes %s; see gpumem %s --help", cmd.Name(), what, cmd.Name())
		}
		return nil
	}
}

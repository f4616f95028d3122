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
		return Errorf("%s", plainly(text))
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

// plainly says what is wrong with a number without the name of the function that found
// out: --batch 8,x: "x" is not a whole number.
func plainly(text string) string {
	value, rest, ok := strings.Cut(strings.TrimPrefix(text, `invalid argument "`), `" for "`)
	flag, why, found := strings.Cut(rest, `" flag: strconv.Parse`)
	if !ok || !found {
		return text
	}
	kind, what, _ := strings.Cut(why, `: parsing `)
	word, why, _ := strings.Cut(what, `: `)
	is := map[string]string{"Bool": "neither true nor false", "Float": "not a number"}[kind]
	switch {
	case strings.Contains(why, "out of range"):
		is = "out of range"
	case is == "":
		is = "not a whole number"
	}
	return flag + " " + value + ": " + word + " is " + is
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

package usage

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
)

func TestABadValueOfAFlagIsSaidPlainly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arg, want string }{
		{"--batch=8,x", `--batch 8,x: "x" is not a whole number`},
		{"--batch=8,99999999999999999999",
			`--batch 8,99999999999999999999: "99999999999999999999" is out of range`},
		{"--count=1.5", `--count 1.5: "1.5" is not a whole number`},
		{"--part=much", `--part much: "much" is not a number`},
		{"--json=perhaps", `--json perhaps: "perhaps" is neither true nor false`},
		{"--for=60", `--for 60: needs a unit, as in --for 60s`},
	} {
		flags := pflag.NewFlagSet("fit", pflag.ContinueOnError)
		flags.Int64Slice("batch", nil, "")
		flags.Int("count", 0, "")
		flags.Float64("part", 0, "")
		flags.Bool("json", false, "")
		flags.Duration("for", time.Second, "")
		if err := flags.Parse([]string{c.arg}); err == nil || OfFlag(flags, err).Error() != c.want {
			t.Errorf("%s: %v, want %s", c.arg, OfFlag(flags, err), c.want)
		}
	}
}

package option

import (
	"strings"

	"github.com/spf13/pflag"
)

// Unrecorded reports a flag of run or attach that makes no difference to what is measured and
// judged: where the answer goes and how it looks, what the caller is told of
// it, who may scrape. The files that metrics flags name hold secrets, so none
// of these is recorded. For, partial and resume are attach's own: the process they
// were given with is gone when somebody runs its program again.
func Unrecorded(name string) bool {
	switch name {
	case "out", "force", "output", "format", "json", "quiet", "verbose", "tui", "no-tui", "help-all", "stay",
		"theme", "fail-on",
		"otlp", "help", "all", "for", "partial", "resume":
		return true
	}
	return strings.HasPrefix(name, "metrics")
}

// Given are the flags that were given and that another run needs to
// measure the same, by name.
func Given(flags *pflag.FlagSet) map[string]string {
	given := map[string]string{}
	flags.Visit(func(f *pflag.Flag) {
		if Unrecorded(f.Name) {
			return
		}
		value := f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(list.GetSlice(), ",") // String puts it in brackets
		}
		given[f.Name] = value
	})
	return given
}

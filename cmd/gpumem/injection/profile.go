package injection

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// profileVariable is how the Python agent is told of the window of profiled steps.
const profileVariable = "GPUMEM_PROFILE"

// Values of --profile.
const (
	ProfileAuto = "auto"             // when the steps are steady
	profileOff  = "off"              // never
	profileNow  = "steps:3,after:10" // of a bare --profile
)

// AddProfile defines --profile, whose value goes to value.
func AddProfile(flags *pflag.FlagSet, value *string) {
	*value = ProfileAuto
	flags.StringVar(value, "profile", ProfileAuto,
		"record the allocations of a few steps with stacks, for what the peak is made of: auto (once the "+
			"steps are steady), off, or steps:N,after:N")
	flags.Lookup("profile").NoOptDefVal = profileNow
}

// ProfileSetting is the variable's value for a value of --profile; empty for auto.
func ProfileSetting(value string) (string, error) {
	switch value {
	case ProfileAuto:
		return "", nil
	case profileOff:
		return "0", nil
	}
	for _, pair := range strings.Split(value, ",") {
		name, number, _ := strings.Cut(pair, ":")
		n, err := strconv.Atoi(number)
		if err != nil || n < 0 || name == "steps" && (n < 1 || n > 1000) ||
			name != "steps" && name != "after" {
			return "", usage.Errorf("--profile=%s: must be auto, off or such as steps:3,after:100", value)
		}
	}
	return value, nil
}

// profile tells the Python agent which window of steps is wanted.
func (in *Injection) profile(value string) {
	if setting, err := ProfileSetting(value); err == nil && setting != "" && in.python != "" {
		in.set(profileVariable, setting)
	}
}

// Package silence keeps Bubble Tea from asking the terminal for its colours
// while the program starts.
//
// Bubble Tea 1 has an init function that writes a query to the terminal and
// waits up to five seconds for the answer, in every program that links it,
// whatever the program was called for. For `gpumem version` over a slow line
// that is the wait of a round trip, typed keys are lost, and a traced child
// that is gpumem itself would write into its parent's screen.
//
// The query is left out when the variable CI is set, which is read at that
// time. The language initialises packages in order of their import paths as
// soon as what they import is initialised. This package imports os alone, the
// package that asks imports os as well, and "github.com/gpumem" sorts before
// "github.com/muesli"; so this one comes first. Lift takes the variable back,
// before main begins. A test on a pseudo-terminal holds this in place.
package silence

import "os"

const variable = "CI"

// before is the variable as it was when the program started.
var before = hush()

type setting struct {
	value string
	set   bool
}

func hush() setting {
	value, set := os.LookupEnv(variable)
	// It fails for malformed names only.
	_ = os.Setenv(variable, "gpumem starts")
	return setting{value, set}
}

// Lift puts the variable back as it was. It is called while packages are
// initialised, from one goroutine.
func Lift() {
	if before.set {
		_ = os.Setenv(variable, before.value)
		return
	}
	_ = os.Unsetenv(variable)
}

package cause

import (
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
)

// Compilation is how often a line of the program had code compiled while memory grew.
type Compilation struct {
	Site  string // file:line function
	Count float64
}

// mostCompiles is the part of all compilations that one line must have asked for to be
// named.
const mostCompiles = .5

// compiledAnew: a line of the program has code compiled again and again, and what is
// compiled is kept.
func compiledAnew(c *Case) *Cause {
	if c.ByLeftover || c.Class != account.DriverGrowth && c.Class != account.HostGrowth {
		return nil
	}
	all, most := 0., Compilation{}
	for _, one := range c.Compilations {
		all += one.Count
		if one.Count > most.Count {
			most = one
		}
	}
	if all < leastCompiled || c.Size/all < compiledBytes || most.Count < mostCompiles*all {
		return nil
	}
	return &Cause{ID: Compiled, Confidence: .85 * c.Confidence, Site: most.Site,
		Evidence: evidence("code was compiled %s times while it grew, by %s each", units.Whole(all), units.Bytes(c.Size/all)),
		Next: "compile once: pad the shapes to a few sizes, and pass what changes as an argument that is " +
			"neither static nor a constant of the function",
		Change: []string{"- jax.jit(f, static_argnums=1)(x, step)", "+ g(x, step)  # with g = jax.jit(f), once"}}
}

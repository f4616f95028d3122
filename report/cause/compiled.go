package cause

import (
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/account"
)

// Compilation is how often a line of the program had code compiled while memory grew.
type Compilation struct {
	Site  string // file:line function
	Count float64
	By    string // what compiled, such as "jax" or "torch.jit"; empty of an older agent
}

// torchScript is PyTorch's compiler that keeps each function it made in a table of the process.
const torchScript = "torch.jit"

// mostCompiles is the part of all compilations that one line must have asked for to be
// named.
const mostCompiles = .5

// compiledMost is the line of the program that most compilations were for, and how many there
// were; none where these are few, or for many lines.
func (c *Case) compiledMost() (most Compilation, all float64) {
	for _, one := range c.Compilations {
		all += one.Count
		if one.Count > most.Count {
			most = one
		}
	}
	if all < leastCompiled || most.Count < mostCompiles*all {
		return Compilation{}, 0
	}
	return most, all
}

// compiledSite is the line that most compilations were for, where compiled functions are what is kept.
func compiledSite(c *Case, id string) string {
	if id != Compiled {
		return ""
	}
	most, _ := c.compiledMost()
	return most.Site
}

// compiledAnew: a line of the program has code compiled again and again, and what is
// compiled is kept.
func compiledAnew(c *Case) *Cause {
	if c.ByLeftover || c.inThings() {
		return nil
	}
	most, all := c.compiledMost()
	switch c.Class {
	case account.DriverGrowth, account.HostGrowth:
	case account.AppLeak: // the constants of functions are tensors that no name leads to
		if most.By != torchScript || len(c.Holders) > 0 && !c.Holders[0].IsNameless() {
			return nil
		}
	default:
		return nil
	}
	if all == 0 || c.Size/all < compiledBytes {
		return nil
	}
	return c.compiledAt(most, evidence("code was compiled %s times while it grew, by %s each",
		units.Whole(all), units.Bytes(c.Size/all)))
}

// compiledAt is the cause for a line that has code compiled, with what shows it. Of how often, only
// the caller knows.
func (c *Case) compiledAt(at Compilation, seen []string) *Cause {
	next := "compile once: pad the shapes to a few sizes, and pass what changes as an argument that is " +
		"neither static nor a constant of the function"
	change := []string{"- jax.jit(f, static_argnums=1)(x, step)", "+ g(x, step)  # with g = jax.jit(f), once"}
	if at.By == torchScript {
		next = "trace or script once: PyTorch keeps each such function, with its constants, until the program ends"
		change = []string{"- torch.jit.trace(f, x)(x)", "+ g(x)  # with g = torch.jit.trace(f, x), once"}
	} else if _, cupy := c.Meta.Versions["cupy"]; cupy {
		change = []string{"- cupy.RawModule(code=text % width).get_function(\"f\")(grid, block, (x,))",
			"+ f(grid, block, (x, width))  # with f from one module, made once"}
	}
	return &Cause{ID: Compiled, Confidence: .85 * c.Confidence, Site: at.Site, Evidence: seen,
		Next: next, Change: change}
}

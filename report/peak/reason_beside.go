package peak

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// isBeside: another framework of the same process holds more of the device than the
// allocator that failed, or a quarter of the device, and without it the request fits.
func isBeside(c *ooms) bool {
	if c.limited || len(c.Beside) == 0 || c.beside < c.short() || c.Capacity == nil {
		return false
	}
	const part = 4
	return c.beside > c.live+c.idle || c.beside > *c.Capacity/part
}

// held is what a framework is known to hold.
func held(b *record.Beside) (sum int64) {
	for _, bytes := range [...]*int64{b.Live, b.Idle} {
		if bytes != nil {
			sum += *bytes
		}
	}
	return sum
}

// largestBeside is the other framework that is known to hold most.
func (c *ooms) largestBeside() *record.Beside {
	most := &c.Beside[0]
	for i := range c.Beside {
		if b := &c.Beside[i]; held(b) > held(most) {
			most = b
		}
	}
	return most
}

func sayBeside(c *ooms) string {
	b := c.largestBeside()
	idle := ""
	if b.Idle != nil && *b.Idle > 0 {
		idle = ", of them " + units.Bytes(*b.Idle) + " idle in its pool"
	}
	return fmt.Sprintf("%s in the same process holds %s of the device's %s%s; PyTorch held %s and asked for "+
		"%s more%s.", nameOf(b.Name), units.Bytes(max(held(b), c.beside)), units.Bytes(*c.Capacity), idle,
		units.Bytes(c.live+c.idle), units.Bytes(c.Asked), c.at())
}

func saveBeside(c *ooms) []Save {
	b := c.largestBeside()
	if b.Idle == nil || *b.Idle == 0 {
		return nil
	}
	return []Save{wouldSave(giveBack(b.Name)+" gives back "+units.Bytes(*b.Idle), *b.Idle, c.fits(*b.Idle))}
}

func nameOf(framework string) string {
	switch framework {
	case "cupy":
		return "CuPy"
	case "jax":
		return "JAX"
	}
	return framework
}

// giveBack is how a program makes a framework give idle memory back.
func giveBack(framework string) string {
	switch framework {
	case "cupy":
		return "cupy.get_default_memory_pool().free_all_blocks()"
	case "jax":
		return "JAX without preallocation (XLA_PYTHON_CLIENT_PREALLOCATE=false)"
	}
	return "the pool of " + framework + ", emptied,"
}

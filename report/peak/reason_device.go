package peak

import (
	"fmt"
	"slices"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// The reasons that lie with the device and the allocator.

// asksTooMuch: more than the device, or the program's limit, has in all.
func asksTooMuch(c *ooms) bool { return c.Limit != nil && c.Asked > *c.Limit }

func sayRequest(c *ooms) string {
	limit := "the device has " + units.Bytes(*c.Limit)
	if c.Capacity != nil && *c.Limit < *c.Capacity {
		limit = "the program limits itself to " + units.Bytes(*c.Limit)
	}
	return fmt.Sprintf("it %s at once%s, and %s.", c.ask(), c.at(), limit)
}

// isCrowded: others hold more than this program does, and without them it fits; or
// they hold a quarter of the device and without them it fits.
func isCrowded(c *ooms) bool {
	if c.limited || c.outside < c.short() || c.Capacity == nil {
		return false
	}
	const part = 4
	return c.outside > c.live+c.idle || c.outside > *c.Capacity/part
}

func sayOthers(c *ooms) string {
	return fmt.Sprintf("%s; this program held %s and asked for %s more%s.", c.sayHeld(),
		units.Bytes(c.live+c.idle), units.Bytes(c.Asked), c.at())
}

// sayHeld says who else held how much of the device.
func (c *ooms) sayHeld() string {
	who, largest := "other processes hold", ""
	if len(c.others) == 1 {
		who = c.nameOther(0) + " holds"
	} else if i := c.largestOther(); i >= 0 {
		largest = fmt.Sprintf(" (%s alone %s)", c.nameOther(i), units.Bytes(c.others[i].Bytes))
	}
	return fmt.Sprintf("%s %s of the device's %s%s", who, units.Bytes(c.outside), units.Bytes(*c.Capacity), largest)
}

// largestOther is the index of the process that holds most of what others hold; -1 if none does.
func (c *ooms) largestOther() int {
	return slices.IndexFunc(c.others, func(o record.HeldBy) bool { return o.Bytes > c.outside/2 })
}

func (c *ooms) nameOther(i int) string {
	o := c.others[i]
	name := fmt.Sprintf("process %d", o.PID)
	if o.Own {
		name += " of this run"
	}
	if o.Name != "" {
		name += " (" + o.Name + ")"
	}
	return name
}

func saveOthers(c *ooms) (saves []Save) {
	for i, o := range c.others {
		if o.Bytes >= c.short()/2 && i < 3 {
			text := "without " + c.nameOther(i) + ", " + units.Bytes(o.Bytes) + " more are free"
			saves = append(saves, wouldSave(text, o.Bytes, c.fits(o.Bytes)))
		}
	}
	if len(c.others) != 1 {
		text := "on a device of its own, " + units.Bytes(c.outside) + " more are free"
		saves = append(saves, wouldSave(text, c.outside, c.fits(c.outside)))
	}
	return saves
}

func isPrivate(c *ooms) bool     { return c.elsewhere.Private && c.elsewhere.Largest >= c.Asked }
func isOtherStream(c *ooms) bool { return !c.elsewhere.Private && c.elsewhere.Largest >= c.Asked }

func sayElsewhere(c *ooms) string {
	where := fmt.Sprintf("the pool of stream %d", c.elsewhere.Stream)
	if c.elsewhere.Private {
		where = "the private pool of a CUDA graph"
	}
	return fmt.Sprintf("%s keeps %s idle, the largest piece of %s, and nobody else may use them; it %s "+
		"elsewhere%s.", where, units.Bytes(c.elsewhere.Idle), units.Bytes(c.elsewhere.Largest), c.ask(),
		c.at())
}

func saveElsewhere(c *ooms) []Save {
	change := "one stream for both would have reused its " + units.Bytes(c.elsewhere.Idle)
	if c.elsewhere.Private {
		change = "graphs that share one pool would have reused its " + units.Bytes(c.elsewhere.Idle)
	}
	return []Save{wouldSave(change, c.elsewhere.Idle, nil)}
}

// isFragmented: the idle bytes would do, no block is large enough, and they are a
// fifth of what is reserved at least. Any pool that is full keeps some idle pieces:
// training on an H100 died with 5 to 7 % of them when its batch was too large.
func isFragmented(c *ooms) bool {
	const part = 5
	return c.own.Largest > 0 && c.own.Largest < c.Asked && c.own.Idle >= c.short() &&
		c.own.Idle >= (c.live+c.idle)/part
}

func sayFragments(c *ooms) string {
	return fmt.Sprintf("fragmentation: %s idle in %s, the largest of %s, and it %s%s.",
		units.Bytes(c.own.Idle), units.Counted(c.own.IdleCount, "piece", "pieces"),
		units.Bytes(c.own.Largest), c.ask(), c.at())
}

func saveFragments(c *ooms) []Save {
	if c.own.Expandable {
		return nil // they are on
	}
	fits := c.own.PageBytes >= c.short()
	if c.own.PageBytes == 0 {
		return []Save{wouldSave("expandable segments would not have helped, as simulated: no page of theirs is idle "+
			"as a whole", 0, &fits)}
	}
	text := fmt.Sprintf("expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) would have "+
		"given back %s of what is idle, as simulated", units.Bytes(c.own.PageBytes))
	return []Save{wouldSave(text, c.own.PageBytes, &fits)}
}

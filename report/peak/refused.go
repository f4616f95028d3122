package peak

import (
	"fmt"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// noMemory is the driver's code for want of memory.
const noMemory = 2

// restOfSites is the name of what the sites that were told do not have.
const restOfSites = "other sites"

// caught tells of refusals that the program went on after.
func (s *seen) caught() *OOM {
	o := s.atRefusal()
	o.Errors, o.Caught = s.owns, s.owns
	return o
}

// atRefusal is what is known of the moment of the last refusal. Its composition is by
// the site that asked.
func (s *seen) atRefusal() *OOM {
	e := s.refused
	d, _ := record.DetailOf[record.Refusal](e)
	o := &OOM{AtMs: e.TMs, PID: e.PID, Site: e.At, Device: d.Device, AskedBytes: d.Asked, FreeBytes: d.Free,
		LiveBytes: d.Live, Others: s.others}
	by, sum := map[string]int64{}, int64(0)
	for _, site := range e.Sites {
		by[site.Site] += site.Bytes
		sum += site.Bytes
	}
	if d.Live == nil || sum == 0 || sum > *d.Live {
		return o
	}
	by[restOfSites] += *d.Live - sum
	o.Composition = categories(by)
	return o
}

// byDriver answers a native program: the driver refused what it asked for, and it
// failed. A caching allocator tries again after a refusal, so the last one counts.
func (s *seen) byDriver(run *record.Run, g Growth) *OOM {
	o := s.atRefusal()
	o.Died, o.Errors, o.Caught = true, max(s.owns, 1), max(s.owns, 1)-1
	d, _ := record.DetailOf[record.Refusal](s.refused)
	if capacity := run.Meta.CapacityBytes[record.LimitDevice]; capacity > 0 {
		o.Capacity = &capacity
	}
	text := sayRefused(o, d.Kind)
	o.Reason, o.Sentence = Driver, text+"."
	switch c := s.asCase(o, g); {
	case asksTooMuch(c):
		o.Reason, o.Sentence = Request, sayRequest(c)
	case c.known && c.short() > 0 && isCrowded(c):
		o.Reason, o.Sentence, o.Saves = OtherProcess, sayOthers(c), saveOthers(c)
	case grew(c):
		o.Reason, o.Sentence = Growing, "it grew until "+text+grownText(g, ": ")+"."
	}
	return o
}

// asCase puts a refusal into the terms of an allocator that keeps nothing idle.
func (s *seen) asCase(o *OOM, g Growth) *ooms {
	d := &record.OOM{Asked: *o.AskedBytes, Limit: o.Capacity, Capacity: o.Capacity, Free: o.FreeBytes,
		Allocated: o.LiveBytes, Reserved: o.LiveBytes, Site: o.Site}
	if o.Device != nil {
		d.Device = *o.Device
	}
	return newCase(d, o.PID, s.others, g)
}

// sayRefused says what was refused, where, and what was there, without a full stop.
func sayRefused(o *OOM, kind string) string {
	text := "the driver refused " + units.Bytes(*o.AskedBytes)
	if kind != "" {
		text += " of " + kind
	}
	if o.Site != "" {
		text += " at " + short(o.Site)
	}
	if o.FreeBytes != nil {
		text += " with " + units.Bytes(*o.FreeBytes) + " free"
	}
	if o.LiveBytes != nil {
		text += ", while the program held " + units.Bytes(*o.LiveBytes)
	}
	const most = 2 // a site with at least this part of it is named
	if c := o.Composition; len(c) > 0 && c[0].Name != restOfSites && c[0].Bytes*most >= *o.LiveBytes {
		text += fmt.Sprintf(", %s from %s", partOf(c[0].Bytes, *o.LiveBytes), placeOf(c[0].Name, o.Site))
	}
	return text
}

// partOf is a part of a whole in words.
func partOf(bytes, whole int64) string {
	if bytes == whole {
		return "all of it"
	}
	return "of it " + units.Bytes(bytes)
}

// placeOf is a site, where a sentence has named another one before.
func placeOf(site, before string) string {
	if site == before {
		return "the same line"
	}
	return short(site)
}

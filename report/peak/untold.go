package peak

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// ranOut is the message of an exception that ended a program for want of memory.
func ranOut(e *record.Event) (text string, ok bool) {
	d, _ := record.DetailOf[record.Died](e)
	return d.Text, d.OfMemory(e.Name)
}

// untold is the answer where no allocator told of the error: from the exception's
// message, from what the driver refused, or from what the kernel did.
func (s *seen) untold(run *record.Run, g Growth) *OOM {
	o := &OOM{PID: s.pid, Died: true, Errors: 1, Text: s.text}
	for i := range run.Events {
		if e := &run.Events[i]; e.Kind == record.KindDied {
			o.AtMs, o.Site = e.TMs, e.At
		}
	}
	switch {
	case s.killed != nil && s.name == "":
		s.byKernel(o, run, g)
	case hostMemory(s.name, s.text):
		s.byHost(o, run, g)
	case s.name != "" && s.refused != nil && s.owns > 0 && !tellsSize(s.text):
		return s.byDriver(run, g)
	case s.name != "":
		s.byText(o, run, g)
	case s.refused != nil:
		return s.byDriver(run, g)
	case s.killed == nil && s.isCrowdedOut(run):
		s.bySpace(o, run, g)
	default:
		s.byKernel(o, run, g)
	}
	return o
}

// tellsSize says whether an exception has the size that was asked for.
func tellsSize(text string) bool {
	_, ok := sizeAfter(text, askedPattern)
	return ok
}

// askedPattern finds the size in what frameworks say.
const askedPattern = `(?i)(?:allocating|allocate)(?:\s+request\s+for)?\s+([0-9][0-9,.]*)\s*`

// byText reads the sizes out of what CuPy, JAX and MLX say.
func (s *seen) byText(o *OOM, run *record.Run, g Growth) {
	o.Reason, o.Framework = Full, frameworkOf(s.name)
	s.readSizes(o)
	limit := sayOf(o, run)
	switch {
	case o.AskedBytes == nil && s.isLeftNothing(run):
		o.Reason, o.Others, o.Sentence = OtherProcess, s.others, s.sayLeft(run)
	case o.AskedBytes == nil:
		o.Sentence = "the last thing it wrote was: " + firstLine(cmp.Or(s.text, s.name))
	case limit.bytes > 0 && *o.AskedBytes > limit.bytes:
		o.Reason = Request
		o.Sentence = fmt.Sprintf("it asked for %s at once%s, and %s.", units.Bytes(*o.AskedBytes), atSite(o),
			limit.words)
	case s.isGrowth(o, g):
		o.Reason = Growing
		o.Sentence = fmt.Sprintf("it grew until it was refused %s more%s%s.", units.Bytes(*o.AskedBytes),
			atSite(o), grownText(g, ": "))
	case s.isTransient(o, run):
		o.Reason, o.Sentence, o.next = Activations, sayTransient(o, limit), adviceTransient(o)
	case keptOf(o, run, limit) > 0:
		tellKept(o, run, limit)
	case o.LimitBytes != nil && o.LiveBytes != nil:
		o.Sentence = fmt.Sprintf("%s: %s were allocated, and it asked for %s more%s.", limit.words,
			units.Bytes(*o.LiveBytes), units.Bytes(*o.AskedBytes), atSite(o))
	case o.LiveBytes != nil:
		o.Sentence = fmt.Sprintf("%s were allocated, and it asked for %s more%s than the device had left.",
			units.Bytes(*o.LiveBytes), units.Bytes(*o.AskedBytes), atSite(o))
	default:
		o.Sentence = fmt.Sprintf("it asked for %s more%s than the device had left.",
			units.Bytes(*o.AskedBytes), atSite(o))
	}
}

// mostOfDevice is the part of a device that other processes hold where they leave a program nothing to begin with.
const mostOfDevice = .5

// isLeftNothing reports whether other processes held most of the device when an exception told of no memory, and
// not of how much was asked for: a program does not come to its first allocation there.
func (s *seen) isLeftNothing(run *record.Run) bool {
	capacity := run.Meta.CapacityBytes[record.LimitDevice]
	return capacity > 0 && float64(s.asOthers(run).outside) >= mostOfDevice*float64(capacity)
}

// sayLeft says who held it.
func (s *seen) sayLeft(run *record.Run) string {
	return s.asOthers(run).sayHeld() + "; the last thing this program wrote was: " + firstLine(cmp.Or(s.text, s.name))
}

// asOthers puts what others held into the terms of an allocator that has nothing. Of several devices it is not
// known which was asked, so that the one of which they hold most counts.
func (s *seen) asOthers(run *record.Run) *ooms {
	capacity := run.Meta.CapacityBytes[record.LimitDevice]
	held := map[int]int64{}
	d := &record.OOM{Capacity: &capacity}
	for _, o := range s.others {
		if o.PID == s.pid {
			continue
		}
		if held[o.Device] += o.Bytes; held[o.Device] > held[d.Device] {
			d.Device = o.Device
		}
	}
	return newCase(d, s.pid, s.others, Growth{})
}

// readSizes takes what the message says of sizes, and else what the framework told when the
// program ended.
func (s *seen) readSizes(o *OOM) {
	if asked, ok := sizeAfter(s.text, askedPattern); ok {
		o.AskedBytes = &asked
	}
	if live, ok := sizeAfter(s.text, `(?i)allocated so far:\s*([0-9][0-9,.]*)\s*`); ok {
		o.LiveBytes = &live
	} else if s.death.Live > 0 {
		o.LiveBytes = &s.death.Live
	}
	if limit, ok := sizeAfter(s.text, `(?i)limit set to:\s*([0-9][0-9,.]*)\s*`); ok {
		o.LimitBytes, o.Reason = &limit, Limit
	} else if s.death.Limit > 0 {
		o.LimitBytes = &s.death.Limit
	}
}

// limited is how much a program could have had, and the words for it.
type limited struct {
	bytes int64
	words string
}

// sayOf is the pool's limit, else the device's capacity.
func sayOf(o *OOM, run *record.Run) limited {
	capacity := run.Meta.CapacityBytes[record.LimitDevice]
	if o.LimitBytes != nil {
		return limited{*o.LimitBytes, "its pool may have " + units.Bytes(*o.LimitBytes)}
	}
	return limited{capacity, "the device has " + units.Bytes(capacity)}
}

// isGrowth: the verdict is sure of a growth of the device's memory, and no single large
// request ended it.
func (s *seen) isGrowth(o *OOM, g Growth) bool {
	const part = 2
	large := o.LiveBytes != nil && *o.AskedBytes > *o.LiveBytes/part
	return g.Sure && g.Claim != "" && g.Class != "host-growth" && !large
}

// atSite is where it was asked for, where that is known.
func atSite(o *OOM) string {
	if o.Site == "" {
		return ""
	}
	return " at " + short(o.Site)
}

func frameworkOf(name string) string {
	for _, f := range [...]string{"cupy", "jax", "mlx", "torch"} {
		if strings.Contains(name, f) {
			return f
		}
	}
	return ""
}

// sizeAfter is the number that a pattern finds, with the unit behind it.
func sizeAfter(text, pattern string) (int64, bool) {
	at := regexp.MustCompile(pattern).FindStringSubmatchIndex(text)
	if at == nil {
		return 0, false
	}
	number := strings.TrimRight(strings.ReplaceAll(text[at[2]:at[3]], ",", ""), ".")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v > 1<<60 {
		return 0, false
	}
	rest := text[at[1]:]
	for _, u := range [...]struct {
		name  string
		bytes float64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"KB", 1e3},
		{"MB", 1e6}, {"GB", 1e9}} {
		if strings.HasPrefix(rest, u.name) {
			v *= u.bytes
			break
		}
	}
	return int64(v), v >= 1
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	const longest = 300
	if len(line) > longest {
		line = strings.ToValidUTF8(line[:longest], "") + "…"
	}
	return strings.TrimSuffix(line, ".") + "."
}

package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// IsHosts reports whether what a site of the driver holds lies in host memory.
func IsHosts(site string) bool {
	return strings.HasSuffix(site, " [pinned memory]") || strings.HasSuffix(site, " [registered memory]")
}

// Function is the function that asked for most of what is still there, where the
// sites have no lines: "in cache::remember (server+0x1678)", and who called it where it
// is a library's.
func Function(sites []record.Site, growth float64) string {
	weight := weightOf(sites)
	largest := slices.SortedStableFunc(slices.Values(sites), func(a, b record.Site) int {
		return cmp.Compare(weight(b), weight(a))
	})
	for _, row := range largest {
		if float64(weight(row)) < growth/4 {
			return ""
		}
		place, name, _ := strings.Cut(withoutClass(row.Site), " ")
		if !strings.Contains(place, "+0x") || strings.HasSuffix(row.Site, record.GoneSite("")) {
			continue
		}
		name, caller, called := strings.Cut(name, calledBy)
		if called {
			caller = calledBy + caller
		}
		name, _, _ = strings.Cut(name, "(build id ")
		name = strings.ReplaceAll(name, unnamed, "")
		name, _, _ = strings.Cut(name, "(")
		if name = strings.TrimSpace(name); name == "" || len(name) > longestName {
			return "at " + place + caller
		}
		return fmt.Sprintf("in %s (%s)%s", name, place, caller)
	}
	return ""
}

// calledBy is between a place without a line and the one in the program that called it.
const calledBy = ", called by "

// withoutClass is a site without the kind of memory that the capture puts behind it.
func withoutClass(site string) string {
	if at := strings.LastIndex(site, " ["); at > 0 && strings.HasSuffix(site, "]") {
		return site[:at]
	}
	return site
}

// Line is the line that asked for most of what is still there, "train.py:88 in
// forward"; with orCaller, where a library without lines asked, the line that called it.
// Empty where no line asked for at least a quarter of the growth.
func Line(sites []record.Site, growth float64, orCaller bool) string {
	return Heaviest(sites, weightOf(sites), growth/4, orCaller)
}

// Made says where most of the handles that grew in number were made, which are of a kind
// such as "events"; empty where no line made at least a quarter of them.
func Made(sites []record.Site, kind string, growth float64) string {
	class := " [" + strings.TrimPrefix(strings.TrimSuffix(kind, "s"), "memory ") + "]"
	handles := slices.DeleteFunc(slices.Clone(sites), func(row record.Site) bool {
		return !strings.HasSuffix(row.Site, class)
	})
	line := Heaviest(handles, func(row record.Site) int64 { return row.Count }, growth/4, true)
	if line == "" {
		return ""
	}
	return "; made at " + line
}

// Heaviest is the line of the most weight, where that is at least so much.
func Heaviest(sites []record.Site, weight func(record.Site) int64, least float64, orCaller bool) string {
	type place struct {
		record.Place
		weight int64
	}
	var all []place
	for _, row := range sites {
		p := record.PlaceOf(withoutClass(row.Site))
		if _, caller, called := strings.Cut(row.Site, calledBy); called && orCaller && p.File == "" {
			p = record.PlaceOf(withoutClass(caller))
		}
		if p.File == "" || strings.HasSuffix(row.Site, record.GoneSite("")) {
			continue
		}
		at := slices.IndexFunc(all, func(o place) bool { return o.File == p.File && o.Line == p.Line })
		if at < 0 {
			at, all = len(all), append(all, place{Place: p})
		}
		all[at].weight += weight(row)
	}
	if len(all) == 0 {
		return ""
	}
	best := slices.MaxFunc(all, func(a, b place) int { return cmp.Compare(a.weight, b.weight) })
	if float64(best.weight) < least {
		return ""
	}
	return Text(best.Place)
}

// weightOf tells how much a site has to do with a growth: by how much it grew where that
// is known of any, else what it holds.
func weightOf(sites []record.Site) func(record.Site) int64 {
	if slices.ContainsFunc(sites, func(row record.Site) bool { return row.GrowthBytes > 0 }) {
		return func(row record.Site) int64 { return row.GrowthBytes }
	}
	return func(row record.Site) int64 { return row.Bytes }
}

// Text is a place in a sentence.
func Text(p record.Place) string {
	text := fmt.Sprintf("%s:%d", shortPath(p.File), p.Line)
	if name := strings.ReplaceAll(p.Name, unnamed, ""); name != "" && len(name) <= longestName &&
		name != "<module>" {
		text += " in " + name
	}
	return text
}

// unnamed is what C++ calls a namespace of a file's own.
const unnamed = "(anonymous namespace)::"

// longestName is that of a function that has its place in a sentence.
const longestName = 40

// shortPath is the file with the folder it is in, which is enough to know it by.
func shortPath(file string) string {
	parts := strings.FieldsFunc(file, func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) <= 2 {
		return file
	}
	return strings.Join(parts[len(parts)-2:], "/")
}

// OfSite is a site in a sentence.
func OfSite(site string) string {
	if p := record.PlaceOf(withoutClass(site)); p.File != "" {
		return Text(p)
	}
	place, _, _ := strings.Cut(withoutClass(site), calledBy)
	return place
}

// ClassOf is what a site asked for.
func ClassOf(site string) string {
	at := strings.LastIndex(site, " [")
	if at <= 0 || !strings.HasSuffix(site, "]") {
		return "device memory"
	}
	switch class := site[at+2 : len(site)-1]; {
	case strings.HasSuffix(class, " memory"):
		return class
	case class == "array":
		return "memory of arrays"
	default:
		return "the number of " + class + "s"
	}
}

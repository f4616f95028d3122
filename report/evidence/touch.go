package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/place"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// touchDecides is the share of the touched pages that names an owner: measured
// on six kinds of leak, the right library had 69 to 100 %.
const touchDecides = .6

// driverLibraries are names of the user-mode parts of GPU drivers, as they
// begin. Frameworks and compilers (NVRTC, XLA) are the program's own choice.
var driverLibraries = [...]string{
	"libcuda", "libnvidia", "libGLX_nvidia", "libEGL_nvidia", "libnvcuvid", "libamdhip64", "libhsa-runtime",
	"libamdocl",
	"libdrm", "libze_", "libigdrcl", "libigdgmm", "libvulkan_",
}

// runtimeLibraries begin like a driver's and are none.
var runtimeLibraries = [...]string{"libcudart"}

// Toucher is whose code first touches the pages that the host grows by: TheDriver,
// TheHost for the program's own, or Unknown when nobody looked, or what was touched
// did not stay.
func Toucher(p *series.Process) finding.Owner {
	if p.Touch == nil || p.Touch.Judgement == "churn" || p.Touch.Judgement == "undecided" {
		return finding.Unknown
	}
	driver, program := 0., 0.
	for _, o := range p.Touch.Owners {
		switch {
		case isDriver(o.Library):
			driver += o.Share
		case strings.HasPrefix(o.Library, "("): // generated or unknown code
		default:
			program += o.Share
		}
	}
	switch {
	case driver >= touchDecides && p.Warm:
		return finding.Unknown // a device that comes to life is the driver's, whatever grows later
	case driver >= touchDecides:
		return finding.TheDriver
	case program >= touchDecides:
		return finding.TheHost
	}
	return finding.Unknown
}

func isDriver(library string) bool {
	for _, name := range runtimeLibraries {
		if strings.HasPrefix(library, name) {
			return false
		}
	}
	for _, name := range driverLibraries {
		if strings.HasPrefix(library, name) {
			return true
		}
	}
	return false
}

// TouchWords name the first owner. Copied says that what the driver touches is the program's.
func TouchWords(p *series.Process, copied bool) string {
	toucher := Toucher(p)
	if toucher == finding.Unknown || len(p.Touch.Owners) == 0 {
		return ""
	}
	o := p.Touch.Owners[0]
	text := fmt.Sprintf(", its new pages first touched by %s (%.0f %%)", o.Library, 100*o.Share)
	if copied && toucher == finding.TheDriver {
		return text + ", as results copied from the device are"
	}
	if place, share := TouchedAt(p); place != "" {
		text += fmt.Sprintf(", %.0f %% of them %s", 100*share, place)
	}
	return text
}

// touchPlace is the part of the touched pages from which a function is named.
const touchPlace = .25

// TouchedAt is the function that touched most of the new pages, with its line or offset
// that touched most, and its share of them; empty where none is known, or none has enough.
func TouchedAt(p *series.Process) (text string, share float64) {
	if p.Touch == nil {
		return "", 0
	}
	shares, most := map[string]float64{}, ""
	function := func(site string) string {
		if at := record.PlaceOf(site); at.File != "" {
			return at.File + " " + at.Name
		}
		file, name, _ := strings.Cut(site, " ")
		file, _, _ = strings.Cut(file, "+0x")
		return file + " " + name
	}
	for _, place := range p.Touch.Places {
		name := function(place.Site)
		if shares[name] += place.Share; shares[name] > shares[most] {
			most = name
		}
	}
	if shares[most] < touchPlace {
		return "", 0
	}
	first := slices.IndexFunc(p.Touch.Places,
		func(t record.TouchPlace) bool { return function(t.Site) == most })
	site := p.Touch.Places[first].Site
	text = place.Function([]record.Site{{Site: site}}, 0)
	if at := record.PlaceOf(site); at.File != "" {
		at.Name, _, _ = strings.Cut(at.Name, ", inlined into ")
		text = "at " + place.Text(at)
	}
	return text, shares[most]
}

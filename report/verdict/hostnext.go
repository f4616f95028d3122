package verdict

import (
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// mostTouched is the share of the new pages from which one library's code filled most.
const mostTouched = .5

// hostNext is what to do about host memory that grows for no cause that is known.
func (s *settled) hostNext(v *Verdict) string {
	if h := hostHolder(s, v.Holders); h != nil {
		return boundIt(h)
	}
	if text := noNameNext(s); text != "" {
		return text
	}
	if place, _ := s.touchedAt(); place != "" && s.toucher() == theHost {
		return "find what keeps the memory that is filled " + place
	}
	if !s.usesDevice() {
		return "look for what the program keeps, and for what native code that it calls never gives back"
	}
	return "look for what the program keeps in host memory: the device's memory is not what grows"
}

// noNameNext is what to do where the program was asked who holds what came and no name led
// to it, by whose code filled it; empty of another.
func noNameNext(s *settled) string {
	const none = "no name was found that leads to it: "
	switch library := s.filledBy(); {
	case !s.lookedInVain():
		return ""
	case strings.HasPrefix(library, "libtorch"):
		return none + "detach what is carried on from one step to the next, whose graph keeps every step; " +
			"else look for what C++ keeps"
	case strings.HasPrefix(library, "libffi"), strings.HasPrefix(library, "_ctypes"):
		return none + "look for what is asked of a C library through ctypes and never given back"
	case strings.HasPrefix(library, "python3"), strings.HasPrefix(library, "libpython3"):
		return none + "look for a reference that C code keeps (ctypes, an extension) and never gives up"
	}
	return ""
}

// lookedInVain reports whether the program answered at its end who holds what came, and
// nobody did.
func (p *process) lookedInVain() bool {
	answered := false
	for _, e := range p.events.about(p.pid) {
		if e.Kind == record.KindHolders {
			answered = len(e.Holders) == 0
		}
	}
	return answered
}

// filledBy is the library whose code first touched most of the new pages; empty of none.
func (p *process) filledBy() string {
	if p.touch == nil || len(p.touch.Owners) == 0 || p.touch.Owners[0].Share < mostTouched {
		return ""
	}
	return p.touch.Owners[0].Library
}

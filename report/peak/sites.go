package peak

import (
	"slices"
	"strings"
)

// Sites of blocks without a line of the program's.
const (
	beforeWindow = "allocated before the window"
	noFrame      = "no Python frame (the backward pass or C++)"
)

// frameworkFolders are in the paths of frames that are not the program's own; the agent
// for Python has the same.
var frameworkFolders = [...]string{
	"/torch/", "/jax/", "/jaxlib/", "/cupy/", "/mlx/", "/numpy/", "/scipy/", "/pandas/",
	"/torchinductor_", // code that PyTorch's compiler writes

}

const (
	packages = "-packages/"  // of site-packages and Debian's dist-packages
	standard = "/lib/python" // the standard library, with the packages below it
)

// site is the line that allocated a block: that of programLine.
func (r *replay) site(b *lived) string {
	if b.birth < 0 {
		return beforeWindow
	}
	if r.isNative(b.stack) {
		return noFrame
	}
	if site, ok := r.sites[b.stack]; ok {
		return site
	}
	stack := r.Stacks[b.stack]
	frames := make([]string, len(stack))
	for i, f := range stack {
		frames[i] = r.frame(f)
	}
	site := programLine(frames)
	r.sites[b.stack] = site
	return site
}

func (r *replay) frame(i int32) string {
	if i < 0 || int(i) >= len(r.Frames) {
		return "?"
	}
	return r.Frames[i]
}

// programLine is, from the inside out, the first of some frames that is the program's own,
// else the first that was not installed (a program's own folder may be called torch), else
// the innermost.
func programLine(frames []string) string {
	for _, isForeign := range [...]func(string) bool{isFramework, isInstalled} {
		if i := slices.IndexFunc(frames, func(f string) bool { return !isForeign(f) }); i >= 0 {
			return frames[i]
		}
	}
	if len(frames) == 0 {
		return ""
	}
	return frames[0]
}

func isFramework(frame string) bool {
	for _, folder := range frameworkFolders {
		if strings.Contains(frame, folder) {
			return true
		}
	}
	return isStandard(frame)
}

func isInstalled(frame string) bool {
	return strings.Contains(frame, packages) || isStandard(frame)
}

func isStandard(frame string) bool {
	if strings.HasPrefix(frame, "<frozen") {
		return true
	}
	return strings.Contains(frame, standard) && !strings.Contains(frame, packages)
}

// timeline is what lived over the window: of each stretch of time the moment at which
// most did.
func (r *replay) timeline(order []Category) []Moment {
	n := len(r.Events)
	if n == 0 {
		return nil
	}
	position := map[string]int{}
	for i, c := range order {
		position[c.Name] = i
	}
	changes := make([][]change, n)
	now := make([]int64, len(order)+1)
	for i := range r.blocks {
		b := &r.blocks[i]
		at, ok := position[b.role]
		if !ok {
			at = len(order)
		}
		if b.birth < 0 {
			now[at] += b.size
		} else {
			changes[b.birth] = append(changes[b.birth], change{at, b.size})
		}
		if b.death < n {
			changes[b.death] = append(changes[b.death], change{at, -b.size})
		}
	}
	var out []Moment
	begun, span := r.Events[0][2], max(r.Events[n-1][2]-r.Events[0][2], 1)
	last, most := int64(-1), int64(-1)
	for i := range r.Events {
		total := int64(0)
		for _, c := range changes[i] {
			now[c.at] += c.bytes
		}
		for _, v := range now {
			total += v
		}
		slot := (r.Events[i][2] - begun) * (maxMoments - 1) / span
		if slot == last && total <= most {
			continue
		}
		m := Moment{Ms: float64(r.Events[i][2]) / 1000, Bytes: slices.Clone(now)}
		if slot == last {
			out[len(out)-1] = m
		} else {
			out = append(out, m)
		}
		last, most = slot, total
	}
	return out
}

// change is by how much a category changes with an event.
type change struct {
	at    int
	bytes int64
}

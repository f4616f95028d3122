package capture

// maxPlaces bounds the places that are kept.
const maxPlaces = 1 << 16

// places are the names of places in files that were found before, by the build id of
// the file: reading debugging information takes long, and the workers of a program
// share it. The zero value is empty and a nil one keeps nothing.
type places struct{ texts map[placeKey]string }

type placeKey struct {
	build  string
	offset uint64
}

// known puts the names that are known into out and returns the offsets without one. A
// file without a build id is not known.
func (p *places) known(build string, offsets []uint64, out map[uint64]string) []uint64 {
	if p == nil || build == "" {
		return offsets
	}
	var open []uint64
	for _, o := range offsets {
		if text, ok := p.texts[placeKey{build, o}]; ok {
			out[o] = text
		} else {
			open = append(open, o)
		}
	}
	return open
}

// keep notes the names of offsets.
func (p *places) keep(build string, offsets []uint64, names map[uint64]string) {
	if p == nil || build == "" {
		return
	}
	if p.texts == nil || len(p.texts)+len(offsets) > maxPlaces {
		p.texts = map[placeKey]string{}
	}
	for _, o := range offsets {
		p.texts[placeKey{build, o}] = names[o]
	}
}

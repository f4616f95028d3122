package peak

import (
	"cmp"
	"slices"
)

// left are the lines of what the window's steps left behind: blocks that a step before the
// last one allocated, and that live on at the window's end. A buffer that the next step
// replaces is none of them. Largest first; steps is of how many steps they are.
func (r *replay) left() (sites []Site, steps int64) {
	steps = int64(len(r.Boundaries)) - 1
	if steps < 1 {
		return nil, 0
	}
	by := siteSums{}
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.birth >= 0 && b.death >= len(r.Events) && int64(r.step(b.birth)) < steps {
			by.add(r.site(b), b)
		}
	}
	return by.sorted(), steps
}

// siteSums are sites by line and category.
type siteSums map[[2]string]*Site

func (s siteSums) add(site string, b *lived) {
	key := [2]string{site, b.role}
	if s[key] == nil {
		s[key] = &Site{Site: site, Category: b.role}
	}
	s[key].Bytes += b.size
	s[key].Count++
}

// sorted are the sites, largest first.
func (s siteSums) sorted() []Site {
	var out []Site
	for _, site := range s {
		out = append(out, *site)
	}
	slices.SortFunc(out, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Site, b.Site),
			cmp.Compare(a.Category, b.Category))
	})
	return out
}

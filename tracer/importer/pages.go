package importer

// pages is a list that grows without being copied, for lists as long as a
// file of several GiB makes them. A page in which all elements have become the
// same is kept once for all such pages.
type pages[T comparable] struct {
	all [][]T
	n   int

	same T   // the element that pages are put together by
	one  []T // a page of nothing else, nil until there is one
}

const pageLen = 1 << 13

// add appends v and returns its index.
func (p *pages[T]) add(v T) int {
	if p.n == len(p.all)*pageLen {
		p.fold(len(p.all) - 2) // the last page may still change
		p.all = append(p.all, make([]T, pageLen))
	}
	p.all[p.n/pageLen][p.n%pageLen] = v
	p.n++
	return p.n - 1
}

// at is element i, which must have been added.
func (p *pages[T]) at(i int) T { return p.all[i/pageLen][i%pageLen] }

// set changes element i, which must have been added.
func (p *pages[T]) set(i int, v T) {
	page := p.all[i/pageLen]
	if p.one != nil && &page[0] == &p.one[0] {
		page = append([]T(nil), page...)
		p.all[i/pageLen] = page
	}
	page[i%pageLen] = v
}

// fold puts page k together with the others of its kind.
func (p *pages[T]) fold(k int) {
	if k < 0 {
		return
	}
	for _, v := range p.all[k] {
		if v != p.same {
			return
		}
	}
	if p.one == nil {
		p.one = p.all[k]
	}
	p.all[k] = p.one
}

package peak

import (
	"math"
	"slices"

	"github.com/gpumem/gpumem/tracer/record"
)

// leastRest is the rest of a large block from which the allocator splits it off, in
// bytes.
const leastRest = 1 << 20

// rounded is the size of the smallest block for a request.
func rounded(bytes int64) int64 {
	const unit = record.WindowUnit
	if bytes > math.MaxInt64-unit {
		return bytes
	}
	return max((bytes+unit-1)/unit, 1) * unit
}

// fit finds the sizes of the blocks. The events tell what was asked for; the
// allocator gives the whole of a free block where too little would be left of it.
// How far a free block reached is seen from what lived beside it.
func (r *replay) fit() {
	slices.SortFunc(r.Segments, func(a, b [3]int64) int { return int(min(max(a[0]-b[0], -1), 1)) })
	byBirth := make([]int, len(r.Events))
	var now []int64 // addresses of what lives, in order
	for i := range byBirth {
		byBirth[i] = -1
	}
	for i := range r.blocks {
		if b := &r.blocks[i]; b.birth >= 0 {
			byBirth[b.birth] = i
		} else {
			now = append(now, b.at)
		}
	}
	slices.Sort(now)
	for i, e := range r.Events {
		k, found := slices.BinarySearch(now, e[0])
		if e[1] < 0 {
			if found {
				now = slices.Delete(now, k, k+1)
			}
			continue
		}
		if at := byBirth[i]; at >= 0 && !r.blocks[at].exact {
			b := &r.blocks[at]
			next := int64(math.MaxInt64)
			if k < len(now) {
				next = now[k]
			}
			b.size = r.given(b, next)
		}
		if !found {
			now = slices.Insert(now, k, e[0])
		}
	}
}

// given is the size of the block that served a request, when the next one that lives
// is at an address.
func (r *replay) given(b *lived, next int64) int64 {
	const unit = record.WindowUnit
	k, found := slices.BinarySearchFunc(r.Segments, b.at, func(s [3]int64, at int64) int {
		return int(min(max(s[0]-at, -1), 1))
	})
	if !found {
		k--
	}
	if k < 0 {
		return b.size
	}
	s := r.Segments[k]
	end := min(s[0]+s[1]/unit, next)
	if end <= b.at || end-b.at > 1<<40 {
		return b.size
	}
	free := (end - b.at) * unit
	if rest := free - b.size; s[2] == 0 && rest > 0 && rest <= leastRest {
		return free
	}
	return b.size
}

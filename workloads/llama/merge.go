package llama

import (
	"cmp"
	"container/heap"
	"math"
	"unicode/utf8"
)

// symbol is a piece of a text that is being merged; the pieces are a list.
type symbol struct {
	text       string
	prev, next int // -1 for none
}

// pair is two neighbours that may be merged, as they were when it was found.
type pair struct {
	left, length int // index of the left one; bytes of both
	cost         float64
}

// pairs are a heap: the cheapest first, of equals the leftmost.
type pairs []pair

func (p pairs) Len() int { return len(p) }
func (p pairs) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(p[i].cost, p[j].cost), cmp.Compare(p[i].left, p[j].left)) < 0
}
func (p pairs) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p *pairs) Push(x any)   { *p = append(*p, x.(pair)) }
func (p *pairs) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// merge cuts a text into characters and merges neighbours, always those whose
// cost is least, until all costs are infinite.
func merge(text string, cost func(a, b string) float64) []string {
	var symbols []symbol
	for rest := text; len(rest) > 0; {
		_, n := utf8.DecodeRuneInString(rest)
		symbols = append(symbols, symbol{rest[:n], len(symbols) - 1, len(symbols) + 1})
		rest = rest[n:]
	}
	if len(symbols) == 0 {
		return nil
	}
	symbols[len(symbols)-1].next = -1
	var waiting pairs
	note := func(left int) {
		if left < 0 || symbols[left].next < 0 {
			return
		}
		a, b := symbols[left].text, symbols[symbols[left].next].text
		if c := cost(a, b); !math.IsInf(c, 1) {
			heap.Push(&waiting, pair{left, len(a) + len(b), c})
		}
	}
	for i := range symbols {
		note(i)
	}
	for len(waiting) > 0 {
		p := heap.Pop(&waiting).(pair)
		left := &symbols[p.left]
		if left.text == "" || left.next < 0 || len(left.text)+len(symbols[left.next].text) != p.length {
			continue // one of them was merged with another meanwhile
		}
		right := &symbols[left.next]
		left.text += right.text
		right.text = ""
		if left.next = right.next; left.next >= 0 {
			symbols[left.next].prev = p.left
		}
		note(left.prev)
		note(p.left)
	}
	var pieces []string
	for i := 0; i >= 0; i = symbols[i].next {
		pieces = append(pieces, symbols[i].text)
	}
	return pieces
}

package capture

import "strings"

// way is the calls of a program by which it asks the driver for everything: what a function that
// is given another and its arguments calls, as programs do that link no library of C. One call
// asks for memory and gives it back there, so that who called that function is the place.
type way map[uint64]bool

// wayOf is by which calls of the program memory was given back, of chains of callers.
func wayOf(takers [][]uint64, texts map[uint64]string) way {
	w := way{}
	for _, chain := range takers {
		w[chain[max(outsideRuntime(chain, texts), 0)]] = true
	}
	return w
}

// past is the first place in a chain from i on that is behind such a call, or i where only other
// files and the language's own code are behind it.
func (w way) past(s *addressSpace, chain []uint64, texts map[uint64]string, i int) int {
	at, ok := s.find(chain[i])
	for n := i; ok && w[chain[n]] && n+1 < len(chain); n++ {
		next, known := s.find(chain[n+1])
		if !known || next.path != at.path || isLanguages(texts[chain[n+1]]) {
			break
		}
		i = n + 1
	}
	return i
}

// takersCallers are the chains of callers of calls that gave memory back.
func (p *process) takersCallers() [][]uint64 {
	var chains [][]uint64
	for _, frames := range p.ledger.takers {
		chains = append(chains, p.space.callers(frames))
	}
	return chains
}

// outsideRuntime is the place in a chain of callers of who called the runtime that
// is linked into the program; -1 where there is none. The runtime's public functions
// have plain names, and stand between its own and the caller's.
func outsideRuntime(chain []uint64, texts map[uint64]string) int {
	at := -1
	for i := 0; i < len(chain) && fromGo(texts[chain[i]]); i++ {
		at = i + 1
	}
	for i, pc := range chain {
		_, symbol, _ := strings.Cut(texts[pc], " ")
		if isStaticRuntime(texts[pc]) || at == i && strings.HasPrefix(symbol, "cuda") {
			at = i + 1
		}
	}
	if at >= len(chain) {
		return -1
	}
	return at
}

// fromGo reports whether a place is where Go leaves its own code for C's.
func fromGo(place string) bool {
	_, symbol, _ := strings.Cut(place, " ")
	return symbol == "syscallX" || symbol == "syscall15X" || strings.HasPrefix(symbol, "runtime.") ||
		strings.HasPrefix(symbol, "github.com/ebitengine/purego.") || strings.HasPrefix(symbol, "_cgo_")
}

// isStaticRuntime reports whether a place is in the CUDA runtime that nvcc links
// into programs by default. NVIDIA names all its functions but the public ones so.
func isStaticRuntime(place string) bool {
	_, symbol, _ := strings.Cut(place, " ")
	return strings.HasPrefix(symbol, "libcudart_static_")
}

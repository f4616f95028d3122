package capture

import "testing"

// laidOut is an address space with a program and libraries, a page each.
func laidOut(program string, files ...string) (s addressSpace, at func(file string) uint64) {
	s.program = program
	for i, f := range append([]string{program}, files...) {
		start := uint64(i+1) << 20
		s.mappings = append(s.mappings, mapping{start: start, end: start + 4096, path: f})
	}
	return s, func(file string) uint64 {
		for _, m := range s.mappings {
			if m.path == file {
				return m.start + 8
			}
		}
		return 0
	}
}

func TestTheOwnerIsWhoAskedOutsideOfTheDriver(t *testing.T) {
	t.Parallel()
	const program, python = "/opt/bin/engine", "/usr/bin/python3.11"
	const ffi, bound = "/usr/lib/libffi.so.8", "/opt/cuda/bindings/_bindings/cydriver.so"
	const driver, runtime, blas, own, torch = "/usr/lib/libcuda.so.1", "/usr/lib/libcudart.so.12",
		"/usr/lib/libcublas.so.12",
		"/opt/lib/libengine.so", "/usr/lib/libc10_cuda.so"
	for name, c := range map[string]struct {
		program string
		frames  []string
		want    owner
	}{
		"the executable":            {program, []string{program}, theProgram},
		"through the runtime":       {program, []string{driver, runtime, program}, theProgram},
		"a library of its own":      {program, []string{runtime, own, program}, theProgram},
		"a library that works":      {program, []string{runtime, blas, program}, aLibrary},
		"an allocator":              {program, []string{runtime, torch, program}, anAllocator},
		"an extension of Python":    {python, []string{runtime, own}, anAllocator},
		"one of a debug build":      {python + "d", []string{runtime, own}, anAllocator},
		"Python itself, by ctypes":  {python, []string{runtime, ffi, python}, theProgram},
		"ctypes of a program":       {program, []string{runtime, ffi, program}, theProgram},
		"NVIDIA's bindings":         {python, []string{bound}, theProgram},
		"a chain that ends early":   {program, []string{driver, runtime}, nobodyKnown},
		"code that lies in no file": {program, []string{runtime, "", program}, nobodyKnown},
		"a library not known yet":   {program, []string{"elsewhere", program}, unresolved},
		"a program not known yet":   {"", []string{own}, unresolved},
	} {
		s, at := laidOut(c.program, driver, runtime, blas, own, torch, ffi, bound)
		var frames stack
		for i, f := range c.frames {
			switch f {
			case "elsewhere":
				frames[i] = 1 << 40
			default:
				frames[i] = at(f)
			}
		}
		if got := s.ownerOf(0, frames); got != c.want {
			t.Errorf("%s: owner %d, want %d", name, got, c.want)
		}
	}
}

func TestOnlyWhatTheProgramAskedForIsItsOwn(t *testing.T) {
	t.Parallel()
	s, at := laidOut("/opt/engine", "/usr/lib/libcublas.so.12", "/usr/lib/libc10_cuda.so")
	p := &process{ledger: newLedger(), space: s}
	asked := uint64(0)
	ask := func(file string, size uint64, kind kind) uint64 {
		asked += 1 << 32
		e := event{kind: kind, ptr: asked, size: size}
		e.frames[0] = at(file)
		p.ledger.apply(&e)
		return asked
	}
	if _, ok := p.programs(); ok {
		t.Error("a program that asked for nothing has a part")
	}
	first := ask("/opt/engine", 3<<20, kindAlloc)
	ask("/usr/lib/libcublas.so.12", 9<<20, kindAlloc)
	ask("/opt/engine", 5<<20, kindManaged)
	if got, ok := p.programs(); !ok || got != (share{3 << 20, 2}) {
		t.Errorf("its part is %+v, %v", got, ok)
	}
	p.ledger.apply(&event{kind: kindFree, ptr: first})
	if got, ok := p.programs(); !ok || got != (share{0, 1}) {
		t.Errorf("after the free it is %+v, %v", got, ok)
	}
	ask("/usr/lib/libc10_cuda.so", 2<<20, kindAlloc)
	if _, ok := p.programs(); ok {
		t.Error("beside an allocator that nobody asks the program's part tells what is live")
	}
}

func TestAProgramThatAsksForManagedMemoryAloneHasAPartOfNoBytes(t *testing.T) {
	t.Parallel()
	s, at := laidOut("/opt/engine")
	p := &process{ledger: newLedger(), space: s}
	e := event{kind: kindManaged, ptr: 1 << 32, size: 5 << 20}
	e.frames[0] = at("/opt/engine")
	p.ledger.apply(&e)
	if got, ok := p.programs(); !ok || got != (share{0, 1}) {
		t.Errorf("its part is %+v, %v", got, ok)
	}
}

func TestAPlaceInGGMLIsThatOfWhoToldItToMakeABuffer(t *testing.T) {
	t.Parallel()
	const program, driver, backend, base, llama = "/opt/bin/server", "/usr/lib/libcuda.so.1", "/opt/lib/libggml-cuda.so",
		"/opt/lib/libggml-base.so.0", "/opt/lib/libllama.so"
	s, at := laidOut(program, driver, backend, base, llama)
	if got := s.callers(stack{at(driver), at(backend), at(base), at(llama), at(program)}); got[0] != at(llama) {
		t.Errorf("called by %x, want %x", got, at(llama))
	}
	if got := s.callers(stack{at(driver), at(backend), at(base)}); got[0] != at(backend) {
		t.Errorf("a chain that ends in ggml: %x, want %x", got, at(backend))
	}
	if got := s.ownerOf(0, stack{at(driver), at(backend), at(base), at(llama)}); got != theProgram {
		t.Errorf("owner %d", got)
	}
}

func TestCodeWithoutAFileAskedForWhoCalledIt(t *testing.T) {
	t.Parallel()
	const program, blas, python = "/opt/bin/server", "/usr/lib/libcublas.so.12", "/usr/bin/python3.12"
	const gone = 1 << 40
	for name, c := range map[string]struct {
		program string
		settled int
		frames  func(at func(string) uint64) stack
		want    owner
	}{
		"its library may only not be known yet": {program, 0,
			func(at func(string) uint64) stack { return stack{gone, at(program)} }, unresolved},
		"a plugin that was closed": {program, 1,
			func(at func(string) uint64) stack { return stack{gone, gone + 8, at(program)} }, theProgram},
		"called by a library": {program, 1,
			func(at func(string) uint64) stack { return stack{gone, at(blas), at(program)} }, aLibrary},
		"generated, and nothing before it": {program, 1,
			func(at func(string) uint64) stack { return stack{gone} }, theProgram},
		"generated by an interpreter": {python, 1,
			func(at func(string) uint64) stack { return stack{gone} }, anAllocator},
		"nothing": {program, 1, func(at func(string) uint64) stack { return stack{} }, nobodyKnown},
	} {
		s, at := laidOut(c.program, blas)
		s.settled = c.settled
		frames := c.frames(at)
		if got := s.ownerOf(0, frames); got != c.want {
			t.Errorf("%s: owner %d, want %d", name, got, c.want)
		}
		if name == "a plugin that was closed" && s.callers(frames)[0] != at(program) {
			t.Errorf("%s: called by %x", name, s.callers(frames))
		}
	}
}

func TestAPlaceInALibraryOfTheProgramHasThePlaceThatCalledIt(t *testing.T) {
	t.Parallel()
	const program, llama, blas = "/opt/bin/server", "/opt/lib/libllama.so", "/usr/lib/libcublas.so.12"
	s, at := laidOut(program, llama, blas)
	for name, c := range map[string]struct {
		chain []uint64
		want  uint64
	}{
		"of the program's library":                {[]uint64{at(llama), at(llama), at(program)}, at(program)},
		"of the program":                          {[]uint64{at(program), at(program)}, 0},
		"of a library that works for the program": {[]uint64{at(blas), at(program)}, 0},
		"of a chain that ends before the program": {[]uint64{at(llama)}, 0},
	} {
		if got := s.programsCall(c.chain); got != c.want {
			t.Errorf("%s: %x, want %x", name, got, c.want)
		}
	}
}

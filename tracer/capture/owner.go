package capture

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// owner is who asked the driver for memory: whose frame is the innermost one
// outside of the driver, its runtime and this package's library.
type owner uint8

const (
	unresolved owner = iota // its library is not known yet
	nobodyKnown
	theProgram  // the executable, or a library of its own
	aLibrary    // one that works for the program, and keeps what it asked for
	anAllocator // one that hands out to others what it asked for
)

// workers are the libraries that ask for memory of their own: workspaces, plans,
// contexts, buffers of communication. Names as NVIDIA and AMD ship them.
var workers = [...]string{
	"libcublas", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse", "libcutensor", "libnccl",
	"libnpp", "libnvjpeg", "libnvrtc", "libnvJitLink", "libnvinfer", "libnvonnxparser", "libcupti",
	"libnvToolsExt",
	"libnvoptix", "libcustabilizer", "libnvvm",
}

// allocators are the libraries with a caching allocator: only they know what of
// their memory is handed out.
var allocators = [...]string{
	"libc10", "libtorch", "libonnxruntime", "libtensorflow", "libxla", "xla_", "pjrt_",
	"libpjrt", "librmm", "libmxnet",
	"libpaddle",
}

// interpreters are programs whose own code asks for nothing: what their extensions
// ask for is handed to the program by an allocator more often than not.
var interpreters = [...]string{"python", "pypy", "node", "ruby", "perl", "java", "julia", "R", "lua",
	"php", "dotnet"}

// bindings are the libraries through which the code of an interpreter calls the driver
// itself: ctypes and cffi; those of CUDA's own packages lie in folders.
var bindings = [...]string{"libffi", "_ctypes", "_cffi_backend"}

var bindingFolders = [...]string{"/cuda/bindings/", "/pycuda/"}

func isBinding(path string) bool {
	base := filepath.Base(path)
	return slices.ContainsFunc(bindings[:], func(name string) bool { return strings.HasPrefix(base, name) }) ||
		slices.ContainsFunc(bindingFolders[:], func(name string) bool { return strings.Contains(path, name) })
}

// ownerOf is who asked at the call stack of a number, by the files that its frames lie in.
// Code without a file, which was generated, or whose library is gone by now, asked for
// who called it, and for the program where that is not known.
func (s *addressSpace) ownerOf(n int, frames stack) owner {
	generated := false
	for _, pc := range frames {
		if pc == 0 {
			break
		}
		m, ok := s.find(pc)
		switch {
		case !ok && pc == frames[0] && n >= s.settled:
			return unresolved
		case !ok && (generated || pc == frames[0]):
			generated = true
			continue
		case ok && isRuntime(m.path):
			continue
		case ok:
			return s.ownerIn(m.path)
		}
		break
	}
	if generated && s.program != "" {
		return s.ownerIn("")
	}
	return nobodyKnown
}

// ownerIn is who asks from code of a file.
func (s *addressSpace) ownerIn(path string) owner {
	base := filepath.Base(path)
	is := func(prefix string) bool { return strings.HasPrefix(base, prefix) }
	switch {
	case slices.ContainsFunc(workers[:], is):
		return aLibrary
	case slices.ContainsFunc(allocators[:], is):
		return anAllocator
	case s.program == "":
		return unresolved
	case interprets(s.program) && !isBinding(path):
		return anAllocator
	}
	return theProgram
}

func interprets(program string) bool {
	base := filepath.Base(program)
	if version := strings.TrimRight(base, "dmt"); strings.HasPrefix(base, "python3") {
		base = version // of a debug build, or one that is free-threaded
	}
	return slices.ContainsFunc(interpreters[:], func(name string) bool {
		return strings.TrimRight(base, "0123456789.") == name
	})
}

// learnProgram notes which file the process runs. Of one that has ended it is the
// file with the lowest address: systems place the program below its libraries.
func (s *addressSpace) learnProgram(pid int, found []mapping) {
	if s.program != "" {
		return
	}
	if path, err := os.Readlink(proc.Path(pid, "exe")); err == nil {
		s.program = strings.TrimSuffix(path, " (deleted)")
	} else if len(found) > 0 {
		s.program = slices.MinFunc(found, func(a, b mapping) int {
			return cmp.Compare(a.start, b.start)
		}).path
	}
}

// share is part of what a program holds.
type share struct {
	bytes uint64
	count int64
}

// programs is what of the device's memory the program itself asked for and has not
// given back; false where that tells nothing of what is live: the program asked for
// none yet, or an allocator that nobody asks hands memory out, or somebody unknown
// asked. Managed memory is in the number alone: the driver charges it where it lies.
func (p *process) programs() (share, bool) {
	l := p.ledger
	var own share
	pending := false // a library was loaded since the last look at the mappings
	for n := range l.byStack {
		for len(p.owners) <= n {
			p.owners = append(p.owners, unresolved)
		}
		if p.owners[n] == unresolved && n > 0 {
			p.owners[n] = p.space.ownerOf(n, l.stackAt[n])
		}
		sum := l.byStack[n]
		switch p.owners[n] {
		case theProgram:
			p.asks = true
			own.bytes, own.count = own.bytes+sum.bytes, own.count+sum.count
		case aLibrary:
		case unresolved:
			if n > 0 {
				pending = pending || sum.bytes > unclearBytes
				break
			}
			p.unclear = p.unclear || sum.bytes > unclearBytes
		default:
			p.unclear = p.unclear || sum.bytes > unclearBytes
		}
	}
	return own, p.asks && !p.unclear && !pending
}

// unclearBytes is how much of unknown owner may be there: a runtime's own few
// kilobytes.
const unclearBytes = 1 << 20

package mapping

import (
	"strings"
)

// Kind is what a mapping is for, judged by its name.
type Kind uint8

// The kinds.
const (
	Anonymous  Kind = iota // without a file: malloc's large blocks, Go's heap, pools
	Heap                   // the program break
	Stack                  // the first thread's; other stacks are anonymous
	Library                // a shared object
	Executable             // the program's own file
	NVIDIA                 // /dev/nvidia*
	DRI                    // /dev/dri, /dev/accel and buffers shared between devices
	KFD                    // /dev/kfd
	Shared                 // /dev/shm, memfd, System V, shared anonymous
	File                   // any other file
	Kernel                 // pages of the kernel's own, such as [vdso]
	kinds
)

// String is the kind in one word.
func (k Kind) String() string {
	names := [kinds]string{"anonymous", "heap", "stack", "library", "executable", "nvidia", "dri", "kfd",
		"shared", "file", "kernel"}
	if k < kinds {
		return names[k]
	}
	return "unknown"
}

// MarshalText writes the kind as its word.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Classify tells a mapping's kind and the name it is grouped under. path is
// the mapping's path without " (deleted)", exe that of the program, "" when
// not known. The name of a library is its [LibraryName]; of an anonymous
// mapping the one that the program gave it, mostly none; of shared memory the
// path without what differs from run to run; otherwise it is the path.
func Classify(path, exe string) (Kind, string) {
	switch {
	case path == "":
		return Anonymous, ""
	case path[0] == '[':
		return classifyBracketed(path)
	case path == exe:
		return Executable, base(path)
	case strings.HasPrefix(path, "/dev/"):
		return classifyDevice(path)
	case strings.HasPrefix(path, "/memfd:"):
		return Shared, path[1:]
	case strings.HasPrefix(path, "/SYSV"):
		return Shared, "SYSV"
	case strings.HasPrefix(path, "/dmabuf:"), strings.HasPrefix(path, "anon_inode:dmabuf"),
		strings.HasPrefix(path, "anon_inode:i915"), strings.HasPrefix(path, "/drm mm object"),
		path == "/i915":
		return DRI, "buffers"
	case isLibrary(path):
		return Library, LibraryName(path)
	}
	return File, path
}

func classifyBracketed(path string) (Kind, string) {
	switch {
	case path == "[heap]":
		return Heap, ""
	case strings.HasPrefix(path, "[stack"):
		return Stack, ""
	case strings.HasPrefix(path, "[anon:"):
		return Anonymous, strings.TrimSpace(strings.TrimSuffix(path[len("[anon:"):], "]"))
	case strings.HasPrefix(path, "[anon_shmem:"):
		return Shared, strings.TrimSpace(strings.TrimSuffix(path[len("[anon_shmem:"):], "]"))
	}
	return Kernel, path
}

func classifyDevice(path string) (Kind, string) {
	switch {
	case strings.HasPrefix(path, "/dev/nvidia"):
		return NVIDIA, path
	case strings.HasPrefix(path, "/dev/dri/"), strings.HasPrefix(path, "/dev/accel/"):
		return DRI, path
	case path == "/dev/kfd":
		return KFD, path
	case strings.HasPrefix(path, "/dev/shm/"):
		return Shared, path
	case path == "/dev/zero": // how the kernel names shared anonymous memory
		return Shared, "anonymous"
	}
	return File, path
}

// isLibrary reports whether a path is that of a shared object.
func isLibrary(path string) bool {
	b := base(path)
	i := strings.Index(b, ".so")
	return i > 0 && (len(b) == i+3 || b[i+3] == '.' || b[i+3] == '-')
}

// LibraryName is a library's name without its folder, version and the tag of
// the Python it was built for: libcuda for libcuda.so.580.159.04,
// _multiarray_umath for _multiarray_umath.cpython-312-x86_64-linux-gnu.so. A
// path that is no library's gives its last element.
func LibraryName(path string) string {
	b := base(path)
	if i := strings.Index(b, ".so"); i > 0 && isLibrary(path) {
		b = b[:i]
	}
	for _, tag := range [...]string{".cpython-", ".abi3", ".pypy"} {
		if i := strings.Index(b, tag); i > 0 {
			b = b[:i]
		}
	}
	return b
}

// base is the last element of a Unix path, on every system.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

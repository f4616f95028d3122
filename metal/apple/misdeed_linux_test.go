//go:build linux && (amd64 || arm64)

package apple_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpumem/gpumem/metal/apple/appletest"
)

// What a process that is to do something wrong is told; the emulator is a
// command line before its own.
const (
	misdeedName = "GPUMEM_TEST_MISDEED"
	emulator    = "GPUMEM_TEST_EMULATOR"
)

// raw speaks to the fake without the driver's care.
type raw struct {
	t                           *testing.T
	send, selector, class       uintptr
	push, pop, copyAllDevices   uintptr
	device, queue, command, enc uintptr
}

func newRaw(t *testing.T, library string) *raw {
	t.Helper()
	h, err := purego.Dlopen(library, purego.RTLD_NOW|purego.RTLD_LOCAL)
	must(t, err)
	r := &raw{t: t}
	for name, f := range map[string]*uintptr{
		"objc_msgSend": &r.send, "sel_registerName": &r.selector, "objc_getClass": &r.class,
		"objc_autoreleasePoolPush": &r.push,
		"objc_autoreleasePoolPop":  &r.pop, "MTLCopyAllDevices": &r.copyAllDevices,
	} {
		*f, err = purego.Dlsym(h, name)
		must(t, err)
	}
	return r
}

func (r *raw) call(f uintptr, args ...uintptr) uintptr {
	v, _, _ := purego.SyscallN(f, args...)
	return v
}

func (r *raw) named(f uintptr, name string) uintptr {
	text := append([]byte(name), 0)
	v, _, _ := purego.SyscallN(f, uintptr(unsafe.Pointer(&text[0])))
	return v
}

func (r *raw) message(to uintptr, selector string, args ...uintptr) uintptr {
	return r.call(r.send, append([]uintptr{to, r.named(r.selector, selector)}, args...)...)
}

// encoding has a device, a queue, a command buffer and an open encoder.
func (r *raw) encoding() *raw {
	r.device = r.message(r.call(r.copyAllDevices), "objectAtIndex:", 0)
	r.queue = r.message(r.device, "newCommandQueueWithMaxCommandBufferCount:", 8)
	r.command = r.message(r.queue, "commandBuffer")
	r.enc = r.message(r.command, "computeCommandEncoder")
	return r
}

// misdeeds are what the fake must not let pass, and what it says then.
var misdeeds = []struct {
	name, says string
	do         func(r *raw)
}{
	{"an unknown selector", "-[MTLDevice flyToTheMoon]: unrecognized selector",
		func(r *raw) { r.message(r.encoding().device, "flyToTheMoon") }},
	{"a message that is in no table", "-[MTLDevice autorelease]: not in the table",
		func(r *raw) { r.message(r.encoding().device, "autorelease") }},
	{"a message to nil", "count is sent to nil", func(r *raw) { r.message(0, "count") }},
	{"a message to a freed object", "count is sent to", func(r *raw) {
		all := r.call(r.copyAllDevices)
		r.message(all, "release")
		r.message(all, "count")
	}},
	{"a selector that is none", "is no selector", func(r *raw) { r.call(r.send, r.encoding().device, 4096) }},
	{"an argument too many", "-[MTLDevice currentAllocatedSize]: register 2 holds 0x5", func(r *raw) {
		r.message(r.encoding().device, "currentAllocatedSize", 5)
	}},
	{"an argument that is no object", "argument 0, 0x12340, is no live object", func(r *raw) {
		r.message(r.encoding().enc, "setComputePipelineState:", 0x12340)
	}},
	{"an argument that is no BOOL", "argument 0, 0x7, is no BOOL", func(r *raw) {
		r.message(r.message(r.named(r.class, "MTLCompileOptions"), "alloc"), "setFastMathEnabled:", 7)
	}},
	{"a grid that is no MTLSize", "is no MTLSize", func(r *raw) {
		r.encoding()
		zero := new([3]uint64)
		args := []uintptr{uintptr(unsafe.Pointer(zero)), uintptr(unsafe.Pointer(zero))} // arm64
		if runtime.GOARCH == "amd64" {
			args = make([]uintptr, 10)
		}
		r.message(r.enc, "dispatchThreads:threadsPerThreadgroup:", args...)
		runtime.KeepAlive(zero)
	}},
	{"a large result by the entry for small ones", "with variant 0 of objc_msgSend, want 1", func(r *raw) {
		r.message(r.encoding().device, "maxThreadsPerThreadgroup")
	}},
	{"a pool popped on another thread", "popped on another thread", func(r *raw) {
		pool := make(chan uintptr)
		go func() {
			runtime.LockOSThread() // and the thread stays with the goroutine, which stays
			pool <- r.call(r.push)
			<-pool
		}()
		runtime.LockOSThread()
		r.call(r.pop, <-pool)
	}},
	{"pools popped out of order", "out of order", func(r *raw) {
		runtime.LockOSThread()
		outer := r.call(r.push)
		r.call(r.push)
		r.call(r.pop, outer)
	}},
	{"an encoder that nobody ended", "an encoder goes without endEncoding", func(r *raw) {
		runtime.LockOSThread()
		pool := r.call(r.push)
		r.encoding()
		r.call(r.pop, pool)
	}},
	{"a commit with an open encoder", "commit: an encoder is open",
		func(r *raw) { r.message(r.encoding().command, "commit") }},
	{"a commit twice", "commit: committed before", func(r *raw) {
		r.message(r.encoding().enc, "endEncoding")
		r.message(r.command, "commit")
		r.message(r.command, "commit")
	}},
	{"a wait without a commit", "waitUntilCompleted: not committed",
		func(r *raw) { r.message(r.encoding().command, "waitUntilCompleted") }},
	{"a compilation with fast math", "fast math", func(r *raw) {
		r.encoding()
		options := r.message(r.message(r.named(r.class, "MTLCompileOptions"), "alloc"), "init")
		source := r.message(r.named(r.class, "NSString"), "alloc")
		text := []byte("kernel\x00")
		r.message(source, "initWithCString:encoding:", uintptr(unsafe.Pointer(&text[0])), 4)
		r.message(r.device, "newLibraryWithSource:options:error:", source, options, 0)
		runtime.KeepAlive(text)
	}},
}

// TestMisdeed does what the environment says, in a process of its own.
func TestMisdeed(t *testing.T) {
	name := os.Getenv(misdeedName)
	if name == "" {
		return // it is the child of TestTheFakeEndsAProcessThatBreaksARule
	}
	for _, m := range misdeeds {
		if m.name == name {
			m.do(newRaw(t, fake))
			return
		}
	}
	t.Fatalf("no misdeed %q", name)
}

func TestTheFakeEndsAProcessThatBreaksARule(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must(t, err)
	for _, m := range misdeeds {
		if runtime.GOARCH != "amd64" && m.name == "a large result by the entry for small ones" {
			continue // one entry is for all results there
		}
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			argv := append(strings.Fields(os.Getenv(emulator)), self, "-test.run=^TestMisdeed$")
			child := exec.Command(argv[0], argv[1:]...)
			child.Dir = t.TempDir() // for what the system makes of an abort
			child.Env = append(os.Environ(), misdeedName+"="+m.name, givenFake+"="+appletest.Copy(t, fake))
			out, err := child.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "fake Metal: ") ||
				!strings.Contains(string(out), m.says) {
				t.Errorf("it ended with %v, want a line that says %q; it said:\n%.600s", err, m.says, out)
			}
		})
	}
}

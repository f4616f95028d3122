package apple

import (
	"runtime"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
)

// id is an Objective-C object; 0 is nil.
type id uintptr

// size is MTLSize.
type size struct{ Width, Height, Depth uint64 }

// sizeAndAlign is MTLSizeAndAlign.
type sizeAndAlign struct{ Size, Align uint64 }

// objc is the Objective-C runtime with Metal loaded. It is immutable and safe
// for concurrent use.
//
// Messages of integers and pointers alone go through send. The others have a
// function variable for each call shape, since only a typed call puts structs
// and doubles where the callee looks for them.
type objc struct {
	functions // the libraries' functions, by the loader

	sizeOf   func(self id, sel uintptr) size
	pairOf   func(self id, sel uintptr, length, options uint64) sizeAndAlign
	isTrueOf func(self id, sel uintptr, of uintptr) bool
	dispatch func(self id, sel uintptr, grid, group size)

	selectors [selectors]uintptr
	noPool    bool // planted fault
}

// functions are the addresses of what is called by name.
type functions struct {
	msgSend, msgSendStret uintptr // the second is 0 where structs need none
	registerName          uintptr // sel_registerName
	getClass              uintptr // objc_getClass
	push, pop             uintptr // objc_autoreleasePoolPush and Pop
	copyAllDevices        uintptr // MTLCopyAllDevices
}

// do runs f, which sends messages, in one transaction: on one OS thread, since
// autorelease pools are a thread's, and inside a pool of its own. Every message
// is sent inside one, releases as well: the dealloc of a buffer autoreleases
// its device.
func (o *objc) do(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if !o.noPool {
		pool, _ := loader.Call(o.push)
		defer loader.Call(o.pop, pool)
	}
	f()
}

// send sends a message whose arguments and result are integers or pointers.
// Pointers among args are converted in the call expression itself, which keeps
// their objects in place.
//
//go:uintptrescapes
func (o *objc) send(self id, s selector, args ...uintptr) uintptr {
	var words [6]uintptr
	words[0], words[1] = uintptr(self), o.selectors[s]
	r, _ := loader.Call(o.msgSend, words[:2+copy(words[2:], args)]...)
	return r
}

// release gives a reference up; nil is allowed.
func (o *objc) release(object id) {
	if object != 0 {
		o.send(object, selRelease)
	}
}

// own takes a reference to an autoreleased object; nil is allowed.
func (o *objc) own(object id) id {
	if object == 0 {
		return 0
	}
	return id(o.send(object, selRetain))
}

// new makes an object of a class by alloc and init, 0 when the system has no
// such class.
func (o *objc) new(class string) id {
	c := o.class(class)
	if c == 0 {
		return 0
	}
	return id(o.send(id(o.send(c, selAlloc)), selInit))
}

func (o *objc) class(name string) id {
	text := terminated(name)
	class, _ := loader.Call(o.getClass, uintptr(unsafe.Pointer(&text[0])))
	return id(class)
}

// string makes an NSString that the caller releases. It ends at the first zero.
func (o *objc) string(s string) id {
	text := terminated(s)
	return id(o.send(id(o.send(o.class("NSString"), selAlloc)), selInitText,
		uintptr(unsafe.Pointer(&text[0])), utf8))
}

// text is an NSString's text; nil has none.
func (o *objc) text(s id) string {
	if s == 0 {
		return ""
	}
	return goString(o.send(s, selText))
}

// words are an NSError's, on one line.
func (o *objc) words(e id) string {
	if e == 0 {
		return ""
	}
	return oneLine(o.text(id(o.send(e, selWords))))
}

// responds reports that an object knows a selector, itself or by forwarding,
// as those of Metal's debug layers do (metal-cpp asks the same two questions).
func (o *objc) responds(object id, s selector) bool {
	return o.isTrueOf(object, o.selectors[selResponds], o.selectors[s]) ||
		o.send(object, selSignature, o.selectors[s]) != 0
}

// label names an object for Apple's tools.
func (o *objc) label(object id, name string) {
	if name == "" {
		return
	}
	text := o.string(name)
	o.send(object, selLabel, uintptr(text))
	o.release(text)
}

// terminated is a C string.
func terminated(s string) []byte { return append([]byte(s), 0) }

// maxText bounds what is believed of a text without an end.
const maxText = 1 << 20

// goString copies the C string at an address of C memory.
func goString(address uintptr) string {
	p := pointer(address)
	if p == nil {
		return ""
	}
	n := 0
	for n < maxText && *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

// pointer is an address of C memory as a pointer.
func pointer(address uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}

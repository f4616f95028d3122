//go:build (darwin || linux) && (amd64 || arm64) && !nodl

package apple

import (
	"runtime"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/gpumem/gpumem/internal/loader"
)

// The system's libraries. A program without windows gets a device only when
// CoreGraphics is loaded (Apple, MTLCreateSystemDefaultDevice).
var systemLibraries = []string{
	"/usr/lib/libobjc.A.dylib",
	"/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics",
	"/System/Library/Frameworks/Metal.framework/Metal",
}

// load loads the system's libraries, or the one of that name, which then has
// everything. They stay loaded.
func load(library string) (*objc, error) {
	names := systemLibraries
	if library != "" {
		names = []string{library}
	} else if runtime.GOOS != "darwin" {
		return nil, &Error{Op: "load Metal", Text: "this is " + runtime.GOOS + "; Metal is a part of macOS",
			is: ErrNoMetal}
	}
	var libraries []loader.Library
	for _, name := range names {
		l, err := loader.Open(name)
		if err != nil {
			return nil, &Error{Op: "load Metal", Text: oneLine(err.Error()), is: ErrNoMetal}
		}
		libraries = append(libraries, l)
	}
	o := &objc{}
	wanted := []function{
		{&o.msgSend, "objc_msgSend"}, {&o.registerName, "sel_registerName"}, {&o.getClass, "objc_getClass"},
		{&o.push, "objc_autoreleasePoolPush"}, {&o.pop, "objc_autoreleasePoolPop"},
		{&o.copyAllDevices, "MTLCopyAllDevices"},
	}
	if runtime.GOARCH == "amd64" {
		wanted = append(wanted, function{&o.msgSendStret, "objc_msgSend_stret"})
	}
	for _, f := range wanted {
		if *f.address = lookup(libraries, f.name); *f.address == 0 {
			return nil, &Error{Op: "load Metal", Text: "it has no " + f.name, Hint: "update macOS",
				is: ErrNoMetal}
		}
	}
	o.register()
	return o, nil
}

// function is where the address of a function of that name belongs.
type function struct {
	address *uintptr
	name    string
}

func lookup(libraries []loader.Library, name string) uintptr {
	for _, l := range libraries {
		if p := l.Lookup(name); p != 0 {
			return p
		}
	}
	return 0
}

// register makes the function of each call shape and looks the selectors up.
// Results of more than 16 bytes need another entry of the runtime on x86-64;
// doubles, BOOLs and shorter structs need none (Apple's compilers' output for
// both targets).
func (o *objc) register() {
	large := o.msgSend
	if o.msgSendStret != 0 {
		large = o.msgSendStret
	}
	purego.RegisterFunc(&o.sizeOf, large)
	purego.RegisterFunc(&o.pairOf, o.msgSend)
	purego.RegisterFunc(&o.isTrueOf, o.msgSend)
	purego.RegisterFunc(&o.dispatch, o.msgSend)
	for s := range selectors {
		text := terminated(s.name())
		o.selectors[s], _ = loader.Call(o.registerName, uintptr(unsafe.Pointer(&text[0])))
	}
}

package cuda

import (
	"fmt"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
)

// library is the loaded driver. It stays loaded: the driver has threads of its
// own in it. It is immutable and safe for concurrent use.
type library struct {
	functions [symbols]uintptr
}

// load loads the library of that name, or the system's, and looks its symbols
// up.
func load(name string) (*library, error) {
	handle, err := openLibrary(name)
	if err != nil {
		return nil, err
	}
	l := &library{}
	for s := range symbols {
		l.functions[s] = handle.Lookup(s.name())
		if l.functions[s] == 0 && s < firstOptional {
			return nil, &Error{Op: "load the driver", Text: "it has no " + s.name(),
				Hint: "update the driver", is: ErrNoDriver}
		}
	}
	return l, nil
}

// has reports that all the optional symbols are there.
func (l *library) hasPools() bool {
	for s := firstOptional; s < symbols; s++ {
		if l.functions[s] == 0 {
			return false
		}
	}
	return true
}

// call calls a function. Pointers among args are converted in the call
// expression itself, which keeps their objects in place.
//
//go:uintptrescapes
func (l *library) call(s symbol, args ...uintptr) Code {
	fn := l.functions[s]
	if fn == 0 {
		return codeSymbolIsMissing
	}
	r, _ := loader.Call(fn, args...)
	return Code(uint32(r))
}

// failure makes the error of a call, nil when it succeeded.
func (l *library) failure(op string, c Code) error {
	if c == codeSuccess {
		return nil
	}
	hint, is := advice(c)
	return &Error{Op: op, Code: c, Text: l.text(c), Hint: hint, is: is}
}

// text is the driver's own name and words for a code.
func (l *library) text(c Code) string {
	if c == codeSymbolIsMissing {
		return "this driver has no such function"
	}
	words := make([]string, 0, 2)
	for _, s := range []symbol{symErrorName, symErrorString} {
		p := new(*byte)
		if l.call(s, uintptr(c), uintptr(unsafe.Pointer(p))) == codeSuccess && *p != nil {
			words = append(words, terminated(*p))
		}
	}
	switch len(words) {
	case 2:
		return words[0] + ", " + words[1]
	case 1:
		return words[0]
	}
	return fmt.Sprintf("unknown error %d", c)
}

// maxText bounds what is believed of a text without an end.
const maxText = 512

// terminated is the text up to its zero.
func terminated(p *byte) string {
	n := 0
	for n < maxText && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// start initialises the driver and returns the number of devices.
func (l *library) start() (int, error) {
	if err := l.failure("start the driver", l.call(symInit, 0)); err != nil {
		return 0, err
	}
	n := new(int32)
	if err := l.failure("count devices", l.call(symDeviceCount, uintptr(unsafe.Pointer(n)))); err != nil {
		return 0, err
	}
	return int(*n), nil
}

// device is the handle of the device of that index.
func (l *library) device(index int) (int32, error) {
	n, err := l.start()
	if err != nil {
		return 0, err
	}
	if index < 0 || index >= n {
		text := fmt.Sprintf("index out of range, devices are 0 to %d", n-1)
		if n == 0 {
			text = "the driver shows no device"
		}
		return 0, &Error{Op: fmt.Sprintf("open device %d", index), Text: text,
			Hint: "gpumem devices lists what is here", is: ErrNoDevice}
	}
	h := new(int32)
	err = l.failure(fmt.Sprintf("open device %d", index),
		l.call(symDeviceGet, uintptr(unsafe.Pointer(h)), uintptr(index)))
	return *h, err
}

// attribute is a device attribute, 0 when the driver does not know it.
func (l *library) attribute(h int32, which uintptr) int {
	v := new(int32)
	if l.call(symDeviceAttribute, uintptr(unsafe.Pointer(v)), which, uintptr(h)) != codeSuccess {
		return 0
	}
	return int(*v)
}

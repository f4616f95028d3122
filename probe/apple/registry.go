package apple

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
)

// Registry asks the IORegistry for GPUs. It is safe for concurrent use. Close
// it when done.
type Registry struct {
	keys map[string]uintptr // CFString, by its text
	io   struct {
		matching, services, next, valid, release, class, id, children, property uintptr
	}
	cf struct {
		newString, newData, length, bytes, release uintptr
	}
}

// The bounds of one look: a busy Mac has some hundred clients.
const (
	maxAccelerators = 64
	maxClients      = 1 << 14
	// changedTries is how often a list that changed meanwhile is read again.
	changedTries = 4
)

// Constants of CoreFoundation (CFString.h, CFPropertyList.h).
const (
	encodingUTF8 = 0x08000100
	formatXML    = 100
)

// OpenRegistry looks the functions up. The error is ErrUnsupported where there
// is no macOS.
func OpenRegistry(o Options) (*Registry, error) {
	o = o.withDefaults()
	r := &Registry{keys: map[string]uintptr{}}
	err := load(o.IOKit, map[string]*uintptr{
		"IOServiceMatching": &r.io.matching, "IOServiceGetMatchingServices": &r.io.services,
		"IOIteratorNext": &r.io.next, "IOIteratorIsValid": &r.io.valid, "IOObjectRelease": &r.io.release,
		"IOObjectGetClass": &r.io.class, "IORegistryEntryGetRegistryEntryID": &r.io.id,
		"IORegistryEntryGetChildIterator": &r.io.children, "IORegistryEntryCreateCFProperty": &r.io.property,
	})
	if err != nil {
		return nil, err
	}
	err = load(o.CoreFoundation, map[string]*uintptr{
		"CFStringCreateWithCString": &r.cf.newString, "CFPropertyListCreateData": &r.cf.newData,
		"CFDataGetLength": &r.cf.length, "CFDataGetBytes": &r.cf.bytes, "CFRelease": &r.cf.release,
	})
	if err != nil {
		return nil, err
	}
	for _, text := range []string{keyStatistics, keyModel, keyCreator, keyUsage} {
		c := append([]byte(text), 0)
		s, _ := loader.Call(r.cf.newString, 0, uintptr(unsafe.Pointer(&c[0])), encodingUTF8)
		if s == 0 {
			r.Close()
			return nil, &Error{Op: "make a string", Text: "CoreFoundation made none"}
		}
		r.keys[text] = s
	}
	return r, nil
}

// Close gives the strings back.
func (r *Registry) Close() {
	for _, s := range r.keys {
		loader.Call(r.cf.release, s)
	}
	clear(r.keys)
}

// Accelerators lists the GPUs with what they hold; with clients also whom they
// work for, which takes some milliseconds. A GPU whose statistics cannot be
// read has Unknown figures.
func (r *Registry) Accelerators(clients bool) ([]Accelerator, error) {
	var list []Accelerator
	for range changedTries {
		// IOServiceGetMatchingServices takes the dictionary over.
		dict, _ := loader.Call(r.io.matching, uintptr(unsafe.Pointer(&append([]byte("IOAccelerator"), 0)[0])))
		if dict == 0 {
			return nil, &Error{Op: "list GPUs", Text: "IOKit made no description to match"}
		}
		var it uint32
		code := kern(loader.Call(r.io.services, 0, dict, uintptr(unsafe.Pointer(&it))))
		if code != kernSuccess {
			return nil, kernError("list GPUs", 0, code)
		}
		list = list[:0]
		whole, err := r.each(it, maxAccelerators, func(entry uint32) error {
			a, err := r.accelerator(entry, clients)
			list = append(list, a)
			return err
		})
		if err != nil || whole {
			return list, err
		}
	}
	return list, &Error{Op: "list GPUs", Text: "the list changed each time that it was read"}
}

// each calls f for the entries of an iterator, gives all of them back and tells
// whether the list stayed the same meanwhile.
func (r *Registry) each(it uint32, most int, f func(entry uint32) error) (whole bool, err error) {
	defer loader.Call(r.io.release, uintptr(it))
	for range most {
		entry, _ := loader.Call(r.io.next, uintptr(it))
		if uint32(entry) == 0 {
			break
		}
		err := f(uint32(entry))
		loader.Call(r.io.release, uintptr(uint32(entry)))
		if err != nil {
			return true, err
		}
	}
	valid, _ := loader.Call(r.io.valid, uintptr(it))
	return uint32(valid) != 0, nil
}

func (r *Registry) accelerator(entry uint32, clients bool) (Accelerator, error) {
	a := unknownAccelerator()
	a.Class = r.class(entry)
	loader.Call(r.io.id, uintptr(entry), uintptr(unsafe.Pointer(&a.ID)))
	a.fill(r.property(entry, keyStatistics))
	a.Model, _ = r.property(entry, keyModel).(string) // data on Intel's
	if !clients {
		return a, nil
	}
	for range changedTries {
		var it uint32
		plane := append([]byte("IOService"), make([]byte, 119)...) // io_name_t has 128 bytes
		code := kern(loader.Call(r.io.children, uintptr(entry), uintptr(unsafe.Pointer(&plane[0])),
			uintptr(unsafe.Pointer(&it))))
		if code != kernSuccess {
			return a, kernError("list the clients of a GPU", 0, code)
		}
		a.Clients = a.Clients[:0]
		whole, err := r.each(it, maxClients, func(child uint32) error {
			if c, ok := parseClient(r.property(child, keyCreator), r.property(child, keyUsage)); ok {
				a.Clients = append(a.Clients, c)
			}
			return nil
		})
		if err != nil || whole {
			return a, err
		}
	}
	return a, &Error{Op: "list the clients of a GPU", Text: "the list changed each time that it was read"}
}

func (r *Registry) class(entry uint32) string {
	var name [128]byte // io_name_t
	if code := kern(loader.Call(r.io.class, uintptr(entry),
		uintptr(unsafe.Pointer(&name)))); code != kernSuccess {
		return ""
	}
	text, _, _ := bytes.Cut(name[:], []byte{0})
	return string(text)
}

// property is a property of an entry as parsePlist gives it, nil where there is
// none or it cannot be read: each is optional.
func (r *Registry) property(entry uint32, key string) any {
	value, _ := loader.Call(r.io.property, uintptr(entry), r.keys[key], 0, 0)
	if value == 0 {
		return nil
	}
	defer loader.Call(r.cf.release, value)
	b, err := r.plist(value)
	if err != nil {
		return nil
	}
	v, err := parsePlist(b)
	if err != nil {
		return nil
	}
	return v
}

// plist writes a value as a property list in XML, so that one parser, tested
// everywhere, reads it.
func (r *Registry) plist(value uintptr) ([]byte, error) {
	data, _ := loader.Call(r.cf.newData, 0, value, formatXML, 0, 0)
	if data == 0 {
		return nil, fmt.Errorf("a value that no property list can hold")
	}
	defer loader.Call(r.cf.release, data)
	n, _ := loader.Call(r.cf.length, data)
	if n == 0 || n > maxPlist {
		return nil, fmt.Errorf("a property list of %d B", n)
	}
	b := make([]byte, n)
	// CFRange goes by value in two registers.
	loader.Call(r.cf.bytes, data, 0, n, uintptr(unsafe.Pointer(&b[0])))
	return b, nil
}

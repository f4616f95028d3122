package apple

import (
	"cmp"
	"fmt"
	"strings"
	"unsafe"

	"github.com/gpumem/gpumem/internal/loader"
	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// Device is the device. See metal.Device for the contract of its methods.
type Device struct {
	objc    *objc
	ledger  *command.Ledger
	options Options
	device  id
	library id
	group   size // the largest threadgroup in each direction
}

var _ metal.Device = (*Device)(nil)

// Check reports why Open would not find the device: an error that matches
// ErrNoMetal or ErrNoDevice, else nil. It compiles and allocates nothing.
func Check(o Options) error {
	c, err := load(o.Library)
	if err != nil {
		return err
	}
	c.do(func() {
		var d id
		if d, err = c.device(o.Device); err == nil {
			c.release(d)
		}
	})
	return err
}

// Open opens a device. Errors match ErrNoMetal, ErrNoDevice, ErrOldSystem,
// ErrCompile, or metal.ErrInvalid for options that contradict each other.
func Open(o Options) (*Device, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	c, err := load(o.Library)
	if err != nil {
		return nil, err
	}
	d := &Device{objc: c, options: o}
	if c.do(func() { err = d.open() }); err == nil {
		err = d.try()
	}
	if err != nil {
		d.shut()
		return nil, d.named(err)
	}
	c.noPool = o.Faults.NoAutorelease // from now on: what is made once is no growth
	return d, nil
}

// device is the device of that index, for the caller to release.
func (o *objc) device(index int) (id, error) {
	list, _ := loader.Call(o.copyAllDevices)
	all := id(list)
	defer o.release(all)
	n := 0
	if all != 0 {
		n = int(o.send(all, selCount))
	}
	switch {
	case n == 0:
		return 0, &Error{
			Op: "open the device", Text: "MTLCopyAllDevices lists none", is: ErrNoDevice,
			Hint: "a Mac that is no virtual machine, or --device soft",
		}
	case index < 0 || index >= n:
		return 0, &Error{
			Op:   fmt.Sprintf("open device %d", index),
			Text: fmt.Sprintf("index out of range, devices are 0 to %d", n-1), is: ErrNoDevice,
		}
	}
	return o.own(id(o.send(all, selAt, uintptr(index)))), nil
}

// open asks the device what it is and compiles the kernels, in a transaction.
func (d *Device) open() error {
	var err error
	if d.device, err = d.objc.device(d.options.Device); err != nil {
		return err
	}
	if err := d.require("device", d.device, ofDevice); err != nil {
		return err
	}
	if err := d.families(); err != nil {
		return err
	}
	if err := d.describe(); err != nil {
		return err
	}
	return d.compile()
}

// require names the first selector that an object lacks.
func (d *Device) require(what string, object id, all []selector) error {
	for _, s := range all {
		if !d.objc.responds(object, s) {
			return &Error{
				Op: "use the " + what, Text: "this system's has no " + s.name(), Hint: "update macOS",
				is: ErrOldSystem,
			}
		}
	}
	return nil
}

// families checks that a grid may be no multiple of its threadgroups, which
// the kernels rely on (Apple, Metal feature set tables: nonuniform threadgroup
// size).
func (d *Device) families() error {
	family := func(f uintptr) bool { return d.objc.isTrueOf(d.device, d.objc.selectors[selFamily], f) }
	if !family(familyApple4) && !family(familyMac2) {
		return &Error{
			Op:   "use the device",
			Text: "it supports neither the family Apple4 nor Mac2 (threadgroups of uneven size)",
			Hint: "another device, or --device soft", is: ErrOldSystem,
		}
	}
	return nil
}

// describe makes the ledger with the device's limits.
func (d *Device) describe() error {
	o := d.objc
	longest := uint64(o.send(d.device, selMaxLength))
	budget := cmp.Or(d.options.WorkingSet, uint64(o.send(d.device, selWorkingSet)), longest)
	page, err := d.page()
	if err != nil {
		return err
	}
	d.group = o.sizeOf(d.device, o.selectors[selGroup])
	d.ledger = command.NewLedger(metal.Info{
		Name: cmp.Or(o.text(id(o.send(d.device, selName))), "Metal"), Driver: "apple",
		Unified:               true, // shared storage is host memory on every Mac
		MaxBufferLength:       min(longest, budget),
		RecommendedWorkingSet: budget,
		MaxBuffers:            cmp.Or(d.options.MaxBuffers, maxBuffers),
		PageSize:              page,
	}, d.options.Faults)
	return nil
}

// page is what a buffer of one byte is allocated as.
func (d *Device) page() (uint64, error) {
	o := d.objc
	b := id(o.send(d.device, selNewBuffer, 1, storageShared))
	if b == 0 {
		return 0, &Error{Op: "use the device", Text: "it has no memory for a byte", is: metal.ErrOutOfMemory}
	}
	defer o.release(b)
	if err := d.require("buffer", b, ofBuffer); err != nil {
		return 0, err
	}
	page := uint64(o.send(b, selAllocatedSize))
	if page == 0 || page&(page-1) != 0 {
		return 0, &Error{Op: "use the device",
			Text: fmt.Sprintf("a buffer of one byte is allocated as %d B, no page", page),
			is:   metal.ErrUnsupported}
	}
	return page, nil
}

// compile makes the library of all kernels. Fast math is off, since it knows
// no NaN.
func (d *Device) compile() error {
	o := d.objc
	options := o.new("MTLCompileOptions")
	defer o.release(options)
	switch {
	case options == 0:
		return &Error{Op: "compile the kernels", Text: "there is no class MTLCompileOptions",
			Hint: "update macOS", is: ErrOldSystem}
	case o.responds(options, selMathMode): // since macOS 15
		o.send(options, selMathMode, mathSafe)
	default:
		o.send(options, selFastMath, 0)
	}
	source := o.string(kernels.MetalSource())
	defer o.release(source)
	why := new(id)
	d.library = id(o.send(d.device, selNewLibrary, uintptr(source), uintptr(options),
		uintptr(unsafe.Pointer(why))))
	if d.library == 0 {
		return d.refused("compile the kernels", *why, ErrCompile)
	}
	return d.require("library", d.library, ofLibrary)
}

// refused is the system's refusal in its own words.
func (d *Device) refused(op string, why id, is error) error {
	if why == 0 {
		return &Error{Op: op, Text: "the system gives no reason", is: is}
	}
	return &Error{Op: op, Code: Code(int(d.objc.send(why, selCode))),
		Text: cmp.Or(d.objc.words(why), "no words"), is: is}
}

// named adds what a virtual machine's device calls itself.
func (d *Device) named(err error) error {
	if d.ledger == nil || !strings.Contains(strings.ToLower(d.Info().Name), "paravirtual") {
		return err
	}
	return fmt.Errorf("%w; the device is %q, of a virtual machine: try the Mac itself, or --device soft",
		err, d.Info().Name)
}

// Info describes the device.
func (d *Device) Info() metal.Info { return d.ledger.Info() }

// Usage is what this Device counts. What the driver itself counts for the
// process is DriverBytes.
func (d *Device) Usage() metal.Usage { return d.ledger.Usage() }

// DriverBytes is Metal's currentAllocatedSize: what its driver says that this
// process has allocated on the device, heaps and everything else included.
func (d *Device) DriverBytes() uint64 {
	var n uint64
	d.objc.do(func() { n = uint64(d.objc.send(d.device, selAllocated)) })
	return n
}

// Autorelease runs f: every transaction in it has a pool of its own.
func (d *Device) Autorelease(f func()) { f() }

// Close gives the device up. It returns an error matching metal.ErrInvalid
// that names what was not released; then the device stays open.
func (d *Device) Close() error {
	if err := d.ledger.Close(); err != nil {
		return err
	}
	d.shut()
	return nil
}

// shut releases what Open made.
func (d *Device) shut() {
	d.objc.do(func() {
		d.objc.release(d.library)
		d.objc.release(d.device)
	})
}

package cuda

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
	"github.com/gpumem/gpumem/metal/kernels"
)

// warm makes the driver take what it takes once: code, launch queues, copy
// buffers. Otherwise the program's first commands would look like growth of the
// driver. It proves as well that the device computes.
func (d *Device) warm() error {
	for _, k := range kernels.All() {
		if _, err := d.entry(k.Name); err != nil {
			return err
		}
	}
	const want = 42
	address, err := d.memory.get(pageSize)
	if err != nil {
		return err
	}
	stream, err := d.stream()
	if err != nil {
		return err
	}
	d.streams = append(d.streams, stream) // for the first queue
	b := &buffer{device: d, length: 4, label: "first", address: address}
	k, _ := kernels.ByName("fill")
	entry, err := d.entry(k.Name)
	if err == nil {
		err = d.memory.write(address, make([]byte, 4))
	}
	if err == nil {
		first := launch{device: d, stream: stream, Dispatch: &command.Dispatch{
			Pipeline: &pipeline{entry: entry}, Kernel: &k, Grid: metal.Size{X: 1},
			Args: []command.Binding{{Buffer: b}, {Bytes: kernels.Float32Bytes(want)}},
		}}
		err = first.start()
	}
	got := make([]byte, 4)
	if err == nil {
		err = d.lib.failure("run a kernel", d.lib.call(symStreamSync, stream))
	}
	if err == nil {
		err = d.memory.read(got, address)
	}
	if v := math.Float32frombits(binary.LittleEndian.Uint32(got)); err == nil && v != want {
		err = &Error{Op: "try the device", Text: fmt.Sprintf("its first kernel wrote %v, not %d", v, want),
			Hint: "look for Xid messages in dmesg"}
	}
	if freed := d.memory.put(address); err == nil {
		err = freed
	}
	return err
}

package soft

import (
	"fmt"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/internal/command"
)

// memory is the region of the store that one buffer has.
type memory struct {
	device *Device
	region
	emptied bool // its pages went back already
}

func (m *memory) Bytes() []byte { return m.region.memory }

// SetPurgeable gives the pages of an emptied buffer back now; the mapping stays.
func (m *memory) SetPurgeable(s metal.PurgeableState) {
	m.emptied = s == metal.Empty
	if m.emptied {
		// a system that refuses keeps the pages, which is no worse than Volatile
		_ = discardMemory(m.region.memory)
	}
}

func (m *memory) Free() error {
	if m.device.leaks.Releases {
		m.device.temps.make()
	}
	if m.device.leaks.Freed && !m.emptied {
		m.device.kept.add(m.region)
		return nil
	}
	return m.device.store.put(m.region)
}

// NewBuffer takes length zeroed bytes of the store; the pages become resident when touched.
func (d *Device) NewBuffer(length uint64, label string) (metal.Buffer, error) {
	b, err := command.NewHostBuffer(d.ledger, length, label, func(bytes uint64) (command.HostMemory, error) {
		r, err := d.store.get(int(bytes))
		if err != nil {
			return nil, command.NoMemory(fmt.Sprintf("map %d B: %v", bytes, err))
		}
		return &memory{device: d, region: r}, nil
	})
	if err != nil {
		return nil, err // not a nil *HostBuffer in the interface
	}
	if least := d.leaks.Resident; least > 0 && length >= least {
		if err := d.kept.hold(b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

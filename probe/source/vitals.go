package source

import "context"

// Vitals is how busy, hot and hungry a device is now. Whatever is not told is
// Unknown, never 0.
type Vitals struct {
	// BusyPercent is the share of the last moments in which something ran on the
	// device, MemoryBusyPercent that in which its memory was read or written.
	BusyPercent, MemoryBusyPercent int64
	Celsius                        int64 // temperature of the chip
	// Milliwatts is what the device draws, LimitMilliwatts the most it may draw.
	Milliwatts, LimitMilliwatts int64
	// MHz is the clock of what computes, MemoryMHz that of the memory.
	MHz, MemoryMHz int64
}

// UnknownVitals are those of a device that tells nothing.
func UnknownVitals() Vitals {
	return Vitals{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
}

// Complete fills in what v does not know from what another source tells of the same
// device.
func (v *Vitals) Complete(more Vitals) {
	for _, f := range [...]struct {
		to   *int64
		from int64
	}{
		{&v.BusyPercent, more.BusyPercent}, {&v.MemoryBusyPercent, more.MemoryBusyPercent},
		{&v.Celsius, more.Celsius}, {&v.Milliwatts, more.Milliwatts},
		{&v.LimitMilliwatts, more.LimitMilliwatts}, {&v.MHz, more.MHz}, {&v.MemoryMHz, more.MemoryMHz},
	} {
		if *f.to == Unknown {
			*f.to = f.from
		}
	}
}

// VitalSource is a source that also tells how its devices are doing.
type VitalSource interface {
	// Vitals are those of the source's devices, in the order of Devices. A device
	// that does not answer has unknown ones. When ctx is done a driver that does not
	// answer is given up.
	Vitals(ctx context.Context) []Vitals
}

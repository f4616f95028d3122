package drm

import (
	"context"
	"path/filepath"

	"github.com/gpumem/gpumem/probe/source"
)

// Vitals implements source.VitalSource. amdgpu publishes all of them; Intel's
// drivers the clock, and what their sensors tell.
func (s *cards) Vitals(context.Context) []source.Vitals {
	list := make([]source.Vitals, len(s.devices))
	for i := range list {
		list[i] = source.UnknownVitals()
	}
	now, err := Devices(s.root)
	if err != nil || s.index.isClosed() {
		return list
	}
	root := s.root
	if root == "" {
		root = "/"
	}
	for i := range now {
		if k, ok := s.at[placeOf(now[i].PDev, now[i].Driver)]; ok {
			list[k] = vitalsOf(filepath.Join(root, "sys/class/drm", now[i].Card))
		}
	}
	return list
}

// vitalsOf reads the files of one card, and those of the sensors that the kernel
// registers for it: temperatures in thousandths of a degree, power in microwatts,
// clocks in Hz.
func vitalsOf(card string) source.Vitals {
	v := source.UnknownVitals()
	dir := filepath.Join(card, "device")
	v.BusyPercent = sysNumber(dir, "gpu_busy_percent")
	v.MemoryBusyPercent = sysNumber(dir, "mem_busy_percent")
	// the pattern is good
	sensors, _ := filepath.Glob(filepath.Join(dir, "hwmon", "hwmon*"))
	for _, h := range sensors {
		v.Complete(source.Vitals{
			BusyPercent: Unknown, MemoryBusyPercent: Unknown,
			Celsius:         scaled(sysNumber(h, "temp1_input"), 1000),
			Milliwatts:      scaled(firstNumber(h, "power1_average", "power1_input"), 1000),
			LimitMilliwatts: scaled(sysNumber(h, "power1_cap"), 1000),
			MHz:             scaled(sysNumber(h, "freq1_input"), 1e6),
			MemoryMHz:       scaled(sysNumber(h, "freq2_input"), 1e6),
		})
	}
	if v.MHz == Unknown { // i915
		v.MHz = sysNumber(card, "gt_act_freq_mhz")
	}
	return v
}

// firstNumber is that of the first file there is.
func firstNumber(dir string, names ...string) int64 {
	for _, name := range names {
		if n := sysNumber(dir, name); n != Unknown {
			return n
		}
	}
	return Unknown
}

func scaled(n, unit int64) int64 {
	if n == Unknown {
		return Unknown
	}
	return n / unit
}

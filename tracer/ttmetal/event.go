package ttmetal

import "strconv"

// Event is what happened to the books with one message.
type Event struct {
	Kind    Kind
	Memory  Memory
	Unknown bool // a free of what is not on the books
	Decimal bool // ids are printed in decimal, as v1 did
	Device  int32
	PID     int32  // of the message in allocations, of the owner in frees
	Refs    uint32 // left after the event; 0 is off the books
	Size    uint64
	Was     uint64 // recorded size when a repeated allocation has another, else 0
	ID      uint64
	Total   int64  // bytes of the counter after the event
	Text    string // a line of its own, when set; the rest is then empty
}

// appendEvent appends the lines of an event, in the formats that the
// tt-metal server's log analysers parse.
func appendEvent(b []byte, e *Event, n numbers) []byte {
	if e.Text != "" {
		return append(append(b, e.Text...), '\n')
	}
	switch e.Kind {
	case Alloc:
		return appendAlloc(b, e)
	case Free:
		return appendFree(b, e)
	}
	if e.Unknown {
		if e.Kind == KernelUnload {
			return b // as upstream: the programs unload what was loaded before
		}
		b = append(b, "⚠ [CB_FREE] Device "...)
		b = strconv.AppendInt(b, int64(e.Device), 10)
		b = append(b, ": unknown circular buffer "...)
		return append(appendID(b, e), '\n')
	}
	return appendCounted(b, e, n)
}

func appendAlloc(b []byte, e *Event) []byte {
	if e.Was != 0 {
		b = appendPID(b, "⚠", e)
		b = append(b, "Buffer "...)
		b = appendID(b, e)
		b = append(b, " on device "...)
		b = strconv.AppendInt(b, int64(e.Device), 10)
		b = append(b, " reused with DIFFERENT size: "...)
		b = strconv.AppendUint(b, e.Was, 10)
		b = append(b, " bytes recorded, "...)
		b = strconv.AppendUint(b, e.Size, 10)
		b = append(b, " bytes reported\n"...)
	}
	b = appendPID(b, "✓", e)
	b = append(b, "Allocated "...)
	b = strconv.AppendUint(b, e.Size, 10)
	b = append(b, " bytes of "...)
	b = append(b, e.Memory.String()...)
	b = append(b, " on device "...)
	b = strconv.AppendInt(b, int64(e.Device), 10)
	b = append(b, " (buffer_id="...)
	b = appendID(b, e)
	if e.Refs > 1 {
		b = append(b, ", ref_count="...)
		b = strconv.AppendUint(b, uint64(e.Refs), 10)
	}
	return append(b, ")\n"...)
}

func appendFree(b []byte, e *Event) []byte {
	if e.Unknown {
		b = appendPID(b, "⚠", e)
		b = append(b, "Deallocation for unknown buffer "...)
		b = appendID(b, e)
		b = append(b, " on device "...)
		b = strconv.AppendInt(b, int64(e.Device), 10)
		return append(b, " (allocated before tracking started)\n"...)
	}
	b = appendPID(b, "✗", e)
	b = append(b, "Freed buffer "...)
	b = appendID(b, e)
	b = append(b, " on device "...)
	b = strconv.AppendInt(b, int64(e.Device), 10)
	b = append(b, " ("...)
	b = strconv.AppendUint(b, e.Size, 10)
	if e.Refs == 0 {
		return append(b, " bytes, FINAL)\n"...)
	}
	b = append(b, " bytes, ref_count="...)
	b = strconv.AppendUint(b, uint64(e.Refs), 10)
	return append(b, " remaining)\n"...)
}

// appendCounted appends the line of a circular buffer or a kernel.
func appendCounted(b []byte, e *Event, n numbers) []byte {
	mark, name, sign := "✓", "CB_ALLOC", "+"
	switch e.Kind {
	case CBFree:
		mark, name, sign = "✗", "CB_FREE", "-"
	case KernelLoad:
		name = "KERNEL_LOAD"
	case KernelUnload:
		mark, name, sign = "✗", "KERNEL_UNLOAD", "-"
	}
	b = append(append(append(append(b, mark...), " ["...), name...), "] "...)
	if e.Kind == KernelLoad || e.Kind == KernelUnload {
		b = append(append(b, kernelClass(e.Memory)...), " kernel on "...)
	}
	b = append(b, "Device "...)
	b = strconv.AppendInt(b, int64(e.Device), 10)
	b = append(append(b, ": "...), sign...)
	b = n.mib(b, e.Size)
	b = append(b, " MB (Total: "...)
	b = n.mib(b, uint64(e.Total))
	return append(b, " MB)\n"...)
}

func appendPID(b []byte, mark string, e *Event) []byte {
	b = append(append(b, mark...), " [PID "...)
	b = strconv.AppendInt(b, int64(e.PID), 10)
	return append(b, "] "...)
}

func appendID(b []byte, e *Event) []byte {
	if e.Decimal {
		return strconv.AppendUint(b, e.ID, 10)
	}
	return strconv.AppendUint(append(b, "0x"...), e.ID, 16)
}

// numbers is how sizes are printed for people: 0.012 MB and 12.0 KB, or with
// six significant digits (0.0117188 MB, 12 KB) as C++ streams do.
type numbers struct{ sixDigits bool }

func (n numbers) mib(b []byte, bytes uint64) []byte {
	return n.scaled(b, float64(bytes)/(1<<20), 3)
}

func (n numbers) kib(b []byte, bytes uint64) []byte {
	return n.scaled(b, float64(bytes)/(1<<10), 1)
}

func (n numbers) scaled(b []byte, v float64, digits int) []byte {
	if n.sixDigits {
		return strconv.AppendFloat(b, v, 'g', 6, 64)
	}
	return strconv.AppendFloat(b, v, 'f', digits, 64)
}

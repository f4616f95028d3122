package apple

import (
	"encoding/binary"
	"fmt"
)

// Unknown stands for a number that the system does not tell. It is never 0.
const Unknown int64 = -1

// Usage is what proc_pid_rusage tells of a process. Sizes are bytes.
type Usage struct {
	Resident, Wired int64
	// Footprint is what the kernel charges the process now, PeakFootprint the
	// most it ever did.
	Footprint, PeakFootprint int64
	// UserTicks and SystemTicks are processor time, Started and Exited moments,
	// all in ticks of the machine (Kernel.Duration). Started tells a process
	// from a later one of the same pid; Exited is 0 while it runs.
	UserTicks, SystemTicks uint64
	Started, Exited        uint64
}

// rusageFlavor and rusageSize are RUSAGE_INFO_V4 and its structure, the first
// with the lifetime's peak (macOS 10.12).
const (
	rusageFlavor = 4
	rusageSize   = 296
)

// parseUsage takes rusage_info_v4 apart (XNU, bsd/sys/resource.h).
func parseUsage(b []byte) (Usage, error) {
	if len(b) < rusageSize {
		return Usage{}, fmt.Errorf("usage of a process: %d B instead of %d", len(b), rusageSize)
	}
	return Usage{
		UserTicks:     word(b, 16),
		SystemTicks:   word(b, 24),
		Wired:         size(b, 56),
		Resident:      size(b, 64),
		Footprint:     size(b, 72),
		Started:       word(b, 80),
		Exited:        word(b, 88),
		PeakFootprint: size(b, 240),
	}, nil
}

// Ledger is what task_info tells of a task. Sizes are bytes; a field that this
// kernel did not fill is Unknown.
type Ledger struct {
	Resident int64
	// Internal is resident anonymous memory, External resident pages of files,
	// Compressed what the compressor holds of the task, on disk or not.
	Internal, External, Compressed int64
	Footprint, PeakFootprint       int64
	// PurgeableNonvolatile is purgeable memory that may not be discarded now.
	PurgeableNonvolatile int64
	// Graphics is what the kernel tags as graphics and charges to the task,
	// GraphicsCompressed that part of it which is compressed; NoFootprint is
	// tagged so and not charged.
	Graphics, GraphicsCompressed, GraphicsNoFootprint int64
}

// GraphicsBytes is all that the kernel charges to the task as graphics,
// resident and compressed, which it counts apart (XNU, osfmk/vm/vm_purgeable.c
// and vm_object.c); Unknown when that is.
func (l Ledger) GraphicsBytes() int64 {
	if l.Graphics == Unknown || l.GraphicsCompressed == Unknown {
		return Unknown
	}
	return l.Graphics + l.GraphicsCompressed
}

// vmInfoFlavor is TASK_VM_INFO; vmInfoWords what we ask for of its structure,
// in words of 4 bytes: all up to rev6. The kernel fills no more than it knows
// and says how much that is.
const (
	vmInfoFlavor = 22
	vmInfoWords  = 89
)

// parseLedger takes task_vm_info apart (XNU, osfmk/mach/task_info.h, packed to
// 4 bytes), of which the kernel filled that many words.
func parseLedger(b []byte, words int) (Ledger, error) {
	if words < 0 || words*4 > len(b) {
		return Ledger{}, fmt.Errorf("ledger of a task: %d words do not fit into %d B", words, len(b))
	}
	b = b[:words*4]
	field := func(offset int) int64 {
		if offset+8 > len(b) {
			return Unknown
		}
		return size(b, offset)
	}
	return Ledger{
		Resident:             field(16),
		Internal:             field(48),
		External:             field(64),
		Compressed:           field(120),
		Footprint:            field(144), // rev1
		PeakFootprint:        field(168), // rev3, as all below
		PurgeableNonvolatile: field(176),
		Graphics:             field(272),
		GraphicsCompressed:   field(280),
		GraphicsNoFootprint:  field(288),
	}, nil
}

// Pages are the machine's free and inactive pages of memory, in bytes.
type Pages struct{ Free, Inactive int64 }

// hostFlavor and hostWords are HOST_VM_INFO64 and the length of its structure
// since OS X 10.9, which every kernel that we can meet fills.
const (
	hostFlavor = 4
	hostWords  = 38
)

// parsePages takes the head of vm_statistics64 apart (XNU,
// osfmk/mach/vm_statistics.h).
func parsePages(b []byte, page int64) (Pages, error) {
	if len(b) < 16 || page <= 0 {
		return Pages{}, fmt.Errorf("memory of the machine: %d B, pages of %d B", len(b), page)
	}
	return Pages{
		Free:     int64(binary.LittleEndian.Uint32(b)) * page,
		Inactive: int64(binary.LittleEndian.Uint32(b[8:])) * page,
	}, nil
}

// Swap is the machine's swap space, which grows with need.
type Swap struct{ Total, Free int64 }

// ParseSwap takes the value of the sysctl vm.swapusage apart: xsw_usage (XNU,
// bsd/sys/sysctl.h).
func ParseSwap(b []byte) (Swap, error) {
	if len(b) < 24 {
		return Swap{}, fmt.Errorf("swap of the machine: %d B", len(b))
	}
	return Swap{Total: size(b, 0), Free: size(b, 8)}, nil
}

// parseNumber reads a sysctl that is a number of 4 or 8 bytes; Unknown for
// anything else. Which of both some are has changed between systems.
func parseNumber(b []byte) int64 {
	switch len(b) {
	case 4:
		return int64(binary.LittleEndian.Uint32(b))
	case 8:
		return size(b, 0)
	}
	return Unknown
}

// task is a part of proc_taskinfo (XNU, bsd/sys/proc_info.h).
const (
	taskFlavor  = 4 // PROC_PIDTASKINFO
	taskSize    = 96
	taskThreads = 84
)

// parseThreads is the number of threads in proc_taskinfo.
func parseThreads(b []byte) (int, error) {
	if len(b) < taskSize {
		return 0, fmt.Errorf("threads of a process: %d B instead of %d", len(b), taskSize)
	}
	return int(int32(binary.LittleEndian.Uint32(b[taskThreads:]))), nil
}

func word(b []byte, offset int) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }

// size is a number of bytes. Ledgers are signed and may stand below zero for a
// moment while the kernel settles them.
func size(b []byte, offset int) int64 { return max(int64(word(b, offset)), 0) }

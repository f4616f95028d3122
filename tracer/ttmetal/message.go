package ttmetal

import (
	"encoding/binary"

	"github.com/gpumem/gpumem/tracer/record"
)

// Sizes of a message in bytes, by version of the protocol.
const (
	V1 = 72
	V2 = 112
	V3 = 128
	V4 = 144
)

// headerSize is the part of a message that all versions share and that holds
// everything a request says.
const headerSize = 40

// Kind says what a message is for.
type Kind uint8

// The kinds of messages. Response and DeviceInfoResponse are the server's.
const (
	Alloc              Kind = 1
	Free               Kind = 2
	Query              Kind = 3
	Response           Kind = 4
	DumpRemaining      Kind = 5
	DeviceInfoQuery    Kind = 6
	DeviceInfoResponse Kind = 7
	CBAlloc            Kind = 8 // circular buffer
	CBFree             Kind = 9
	KernelLoad         Kind = 10
	KernelUnload       Kind = 11
	DumpKernels        Kind = 12
)

// Values of Request.Time in a DumpRemaining that ask for the dump on the
// connection, which the server closes after it. ASCII "GPUMEM" and a letter;
// as times they lie in the year 2139 or later.
const (
	DumpText uint64 = 0x54_4d_45_4d_55_50_47_00
	DumpJSON uint64 = 0x4a_4d_45_4d_55_50_47_00
	// DumpSums asks for the counters and what each process holds, as JSON. It
	// names no buffers, so it can be asked every second, and prints nothing.
	DumpSums uint64 = 0x53_4d_45_4d_55_50_47_00
)

// Memory is the kind of device memory a buffer lies in, as tt-metal numbers
// them.
type Memory uint8

// The kinds of memory.
const (
	DRAM         Memory = 0
	L1           Memory = 1
	SystemMemory Memory = 2 // counted as L1_SMALL, as the clients expect
	L1Small      Memory = 3
	Trace        Memory = 4
	memories            = 5
)

// String is the memory's name in event lines and dumps.
func (m Memory) String() string {
	switch m {
	case DRAM:
		return record.MemoryDRAM
	case L1:
		return record.MemoryL1
	case SystemMemory:
		return record.MemorySystem
	case L1Small:
		return record.MemoryL1Small
	case Trace:
		return record.MemoryTrace
	}
	return "UNKNOWN"
}

// kernelClass names the value that stands for Memory in a KernelLoad.
func kernelClass(m Memory) string {
	switch m {
	case 0:
		return "Application"
	case 1:
		return "Fabric"
	case 2:
		return "Dispatch"
	}
	return "Unknown"
}

// kernelClasses is how many classes of kernels there are.
const kernelClasses = 3

// Counter is one of the byte counters of a device, in the order of a reply.
type Counter int

// The counters of a device.
const (
	CountDRAM Counter = iota
	CountL1
	CountL1Small
	CountTrace
	CountCB
	CountKernel
	counters
)

// String is the counter's name in statistics and JSON.
func (c Counter) String() string {
	return [...]string{
		record.MemoryDRAM, record.MemoryL1, record.MemoryL1Small, record.MemoryTrace, "CB", "KERNEL",
	}[c]
}

// counterOf is the counter that a memory adds to.
func counterOf(m Memory) Counter {
	switch m {
	case DRAM:
		return CountDRAM
	case L1:
		return CountL1
	case Trace:
		return CountTrace
	}
	return CountL1Small
}

// Request is what a client says: the header of a message.
type Request struct {
	Kind   Kind
	Memory Memory
	Device int32
	PID    int32
	Size   uint64
	ID     uint64
	Time   uint64
}

// DecodeRequest reads the header at the start of b, which must hold at least
// 40 bytes. Padding is not looked at.
func DecodeRequest(b []byte) Request {
	_ = b[headerSize-1]
	return Request{
		Kind:   Kind(b[0]),
		Device: int32(binary.LittleEndian.Uint32(b[4:])),
		Size:   binary.LittleEndian.Uint64(b[8:]),
		Memory: Memory(b[16]),
		PID:    int32(binary.LittleEndian.Uint32(b[20:])),
		ID:     binary.LittleEndian.Uint64(b[24:]),
		Time:   binary.LittleEndian.Uint64(b[32:]),
	}
}

// Append appends the request as a message of a size, one of V1 to V4.
func (q Request) Append(b []byte, size int) []byte {
	b = append(b, byte(q.Kind), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(q.Device))
	b = binary.LittleEndian.AppendUint64(b, q.Size)
	b = append(b, byte(q.Memory), 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(q.PID))
	b = binary.LittleEndian.AppendUint64(b, q.ID)
	b = binary.LittleEndian.AppendUint64(b, q.Time)
	return append(b, make([]byte, size-headerSize)...)
}

// DeviceInfo is what a device is. The zero value says that it is not known.
type DeviceInfo struct {
	Available          bool
	Arch               uint32 // 1 Grayskull, 2 Wormhole_B0, 3 Blackhole, 4 Quasar
	DRAMBytes, L1Bytes uint64
	DRAMChannels       uint32
	DRAMPerChannel     uint32 // bytes; 4 GiB does not fit: trust DRAMBytes
	L1PerCore          uint32 // bytes
}

// Reply is what the server answers: kind Response or DeviceInfoResponse.
type Reply struct {
	Kind    Kind
	Device  int32
	Used    [counters]uint64 // bytes by Counter; CB and kernels since V3
	Info    DeviceInfo       // since V2
	Devices uint32           // how many there are, since V2
}

// Append appends the reply as a message of a size; what the size has no room
// for is left out.
func (r Reply) Append(b []byte, size int) []byte {
	start := len(b)
	b = append(b, make([]byte, size)...)
	m := b[start:]
	m[0] = byte(r.Kind)
	binary.LittleEndian.PutUint32(m[4:], uint32(r.Device))
	used := m[headerSize:]
	for c := CountDRAM; c <= CountTrace; c++ {
		binary.LittleEndian.PutUint64(used[8*c:], r.Used[c])
	}
	if size == V1 {
		return b
	}
	info := m[V1:]
	if size >= V3 {
		binary.LittleEndian.PutUint64(m[72:], r.Used[CountCB])
		binary.LittleEndian.PutUint64(m[80:], r.Used[CountKernel])
		info = m[88:]
	}
	binary.LittleEndian.PutUint64(info, r.Info.DRAMBytes)
	binary.LittleEndian.PutUint64(info[8:], r.Info.L1Bytes)
	for i, v := range [...]uint32{
		r.Info.Arch, r.Info.DRAMChannels, r.Info.DRAMPerChannel, r.Info.L1PerCore,
		flag(r.Info.Available), r.Devices,
	} {
		binary.LittleEndian.PutUint32(info[16+4*i:], v)
	}
	return b
}

// DecodeReply reads a reply; the length of b, one of V1 to V4, is its size.
func DecodeReply(b []byte) Reply {
	r := Reply{Kind: Kind(b[0]), Device: int32(binary.LittleEndian.Uint32(b[4:]))}
	for c := CountDRAM; c <= CountTrace; c++ {
		r.Used[c] = binary.LittleEndian.Uint64(b[headerSize+8*int(c):])
	}
	if len(b) == V1 {
		return r
	}
	info := b[V1:]
	if len(b) >= V3 {
		r.Used[CountCB] = binary.LittleEndian.Uint64(b[72:])
		r.Used[CountKernel] = binary.LittleEndian.Uint64(b[80:])
		info = b[88:]
	}
	u32 := func(i int) uint32 { return binary.LittleEndian.Uint32(info[16+4*i:]) }
	r.Info = DeviceInfo{
		DRAMBytes: binary.LittleEndian.Uint64(info), L1Bytes: binary.LittleEndian.Uint64(info[8:]),
		Arch: u32(0), DRAMChannels: u32(1), DRAMPerChannel: u32(2), L1PerCore: u32(3), Available: u32(4) != 0,
	}
	r.Devices = u32(5)
	return r
}

func flag(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

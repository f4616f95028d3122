// Package ttmetal is an allocation server: it keeps the books of device
// allocations that programs report over a Unix stream socket. It speaks the
// protocol of the tt-metal allocation server in all four of its message sizes,
// so that programs built with that client report to it unchanged.
//
// # The protocol
//
// Little endian, packed, no handshake, no length, no version. A message has a
// header of 40 bytes and a tail that grew over time: 72 bytes in all (v1), 112
// (v2), 128 (v3) or 144 (v4). A connection uses one size; Detect finds it from
// the first bytes, and replies have the same size.
//
//	offset  size  field
//	0       1     kind (1 to 12)
//	4       4     device, signed; -1 asks for the number of devices
//	8       8     size in bytes; 0 in a free
//	16      1     memory (DRAM 0, L1 1, SYSTEM_MEMORY 2, L1_SMALL 3, TRACE 4) or class of kernel
//	20      4     process, signed
//	24      8     buffer: a device address, a program's id for kernels
//	32      8     time, ns since the epoch; 0 in a free
//	40      32    replies: bytes of DRAM, L1, L1_SMALL, TRACE
//
// One extension: a dump request (kind 5) whose time is DumpText or DumpJSON is
// also answered on its connection, which is then closed; one whose time is
// DumpSums is answered only there. Other servers take it for an ordinary request.
//
// # How it is built
//
//	Request, Reply   messages and their bytes
//	Detect, framer   a stream of bytes becomes messages
//	Registry         the books: live buffers by device, space and id, sharded,
//	                 in fixed slots; with a state file the slots are the
//	                 file's pages, so that they survive a SIGKILL at any moment
//	sink             printing: event lines, dumps, statistics; bounded, so that
//	                 reading never waits for it, and what it loses is counted
//	Server           connections
//	Findings         what of a dump is normal
//
// The package never prints by itself: it writes to the io.Writers it is given.
package ttmetal

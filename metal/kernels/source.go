package kernels

import _ "embed"

//go:embed kernels.metal
var metalSource string

//go:embed kernels.ptx
var ptx string

// MetalSource is the Metal Shading Language source of every kernel. A function
// is called as its kernel, takes the arguments at their indexes, and has one
// thread for each point of the grid: uint in kernels of one dimension
// (Call.Grid.X), uint2 in the others.
func MetalSource() string { return metalSource }

// PTX is MetalSource compiled for NVIDIA's virtual architecture sm_70 by
// scripts/build_ptx.sh. Each kernel is an entry EntryPrefix + name, whose
// parameters are the arguments, buffers as 64-bit addresses and parameters as
// 32-bit values, then the width and the height of the grid as 32-bit unsigned
// integers. Any number of blocks of up to MaxBlock threads covers the grid.
func PTX() string { return ptx }

const (
	// EntryPrefix keeps the entries of the PTX apart from library functions,
	// whose names some kernels have.
	EntryPrefix = "gpumem_"
	// MaxBlock is the number of threads that the PTX is compiled for.
	MaxBlock = 256
)

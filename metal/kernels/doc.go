// Package kernels names every kernel of a metal.Device once: its arguments
// as plain data, what one thread of its grid is, how long each buffer must
// be, and a float32 version in Go that runs on host memory.
//
// # Arguments
//
// Arguments are numbered: buffers first, then 4-byte parameters, in the order
// of Kernel.Args. A parameter is bound either from a 4-byte buffer or from
// inline bytes; the kernel sees the same little-endian bytes. Matrices are
// row-major and dense.
//
// # Adding a driver
//
// A driver compiles or loads the function called Kernel.Name from its own
// source (one .metal text for Apple, PTX made from it for NVIDIA), binds the
// arguments by index and calls Kernel.Needs before it launches, so that no
// driver reads or writes outside a buffer. The source must guard threads
// outside the dimensions in the parameters, as the Go versions do. It is
// right when package metaltest passes: the suite runs every kernel of All
// against float64 references.
//
// # Adding a kernel
//
// One entry in the table (table.go), one function in Go, one case in the
// suite's references. Nothing else knows kernels by name.
package kernels

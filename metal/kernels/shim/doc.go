// Package shim lets C++ compilers read kernels.metal: the header of Apple's
// that the source includes, as far as it uses it, and the wrappers that launch
// its kernels. Parse reads the signatures, CUDA and CPU print a translation
// unit each: the first for clang's CUDA mode, which makes the PTX of package
// kernels, the second for a processor, where tests, the stub driver of
// metal/cuda and the fake of metal/apple run the very same source.
//
// It composes with package kernels, whose table it trusts for nothing: what it
// prints follows from the source alone, and a test compares both.
package shim

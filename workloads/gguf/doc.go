// Package gguf reads and writes GGUF model files, versions 2 and 3, little
// endian, as llama.cpp defines them.
//
// Read trusts nothing in the file: every count and length is held against the
// bytes that are left before anything is allocated, and what is wrong comes
// back as a FormatError with the offset. Tensor data is never read by Read; a
// Tensor says where its bytes lie and Data gives a reader over them.
//
// Twin describes a stand-in for TinyLlama 1.1B in Q4_0: the same 201 tensors,
// metadata and file length, with zero blocks for data, written as a sparse
// file that needs almost no disk.
package gguf

// Package llama runs language models of the Llama family from GGUF files: over
// tensors of workloads/tensor, on every device, through the pool.
//
// Weights stay packed as the file has them. A product first decodes its matrix
// into one scratch tensor that all of them share, so that a model takes what
// its file takes, one matrix of float32 and the caches of its sessions.
//
// One goroutine at a time uses a Model and its caches: that of its Runtime.
package llama

// Package tensor is a small tensor library over the instrumented pool: shapes,
// scopes, reverse-mode autograd, gradient descent, Adam, and the layers of the
// bundled workloads.
//
// It promises that memory follows references and nothing else. A Tensor holds
// one reference to its storage; Share adds one and never copies; a graph node
// holds references to what its backward pass reads, and gives them up when
// nothing reaches the node any more. What a Scope made is released when it
// ends unless it was kept. So a buffer that stays live is held by somebody,
// and Holders says by whom.
//
// A Runtime runs on a metal.Device (pool, command buffers, kernels in flight)
// or on the host (Go memory, each command at once, nothing of a driver): the
// control run. The same program runs on both.
package tensor

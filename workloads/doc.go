// Package workloads holds the bundled programs with a known truth: each
// declares what its healthy run and each of its planted faults must be judged
// as, so that a verdict can be checked against it.
//
// A workload is an ordinary program of tensors over a pool. It runs in a
// process of its own, reports through tracer/agent like any other program, and
// grows, when it grows, by the real mechanism: references that are kept,
// graphs that are not cut, temporaries that nothing drains. No number is made
// up for the tracer.
package workloads

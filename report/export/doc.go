// Package export writes a run and its verdict for other tools to open: pprof,
// PyTorch's memory_viz, Perfetto and Chrome, whatever reads Parquet,
// Prometheus, and the CI systems that read JUnit and SARIF.
//
// Every writer is a pure function of (record.Run, verdict.Verdict, Options):
// the same input gives the same bytes. What a format asks for and a run does
// not have is left out, or the run is refused with ErrNothing; nothing is made
// up, and where a format wants more than samples hold (single allocations, in a
// memory snapshot) the file says what stands for it. Strings of the traced
// program are bounded and escaped for the format.
//
// It composes with tracer/record and report/verdict as package report does,
// which writes for people.
package export

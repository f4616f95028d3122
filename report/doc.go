// Package report turns a run and its verdict into something a person or a
// machine reads: text for a terminal, verdict.json, the samples as CSV, one
// self-contained HTML file, Markdown for a ticket and a pprof profile.
//
// Every renderer is a pure function of (record.Run, verdict.Verdict, Options):
// no clock, no environment, no network, no map order. The same input gives the
// same bytes. Text, Markdown and HTML are written from one document, so they
// say the same in the same order; a figure that the verdict or the run does
// not hold is not shown, or shown as "–". Strings that come from the traced
// program are bounded, stripped of control characters and escaped for the
// format they are written to.
//
// WriteDiff does the same for the difference of two runs. A Redactor takes out
// of a run what names people, machines and programs, before it is judged and
// rendered: what is written then never saw the names.
//
// It composes with tracer/record, which reads the run folder, and with
// report/verdict, which judges it. It never sees a device and never prints.
package report

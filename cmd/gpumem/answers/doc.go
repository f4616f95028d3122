// Package answers is the way from what was recorded to what is answered: a run folder,
// a CSV or a recording of another tool is read, judged, printed and, where it is a run
// folder, completed with its verdict and its report; and a redacted copy of one.
package answers

// Package record owns the run folder: run.json, samples.csv, events.jsonl and
// the files that reports add. It writes so that any prefix of any file can be
// read, also after SIGKILL, and reads whatever it is given: no input makes it
// panic, no valid row is lost, and what was wrong is returned as warnings.
//
// It imports only the standard library. The tracer writes through Writer, an
// import through Save; report and verdict read through Open and ReadCSV. Follow
// reads a run that still grows, for the live screen and the metrics. Thinned keeps
// rows of a process that runs on, in bounded memory.
package record

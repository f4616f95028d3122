// Package live is the set of processes that are watched while they run: of each its
// latest rows, its accounts, its name, whether it has ended, and the verdict on it.
// The screen, the metrics and a diagnosis are views of a Set; they differ in what
// they show, and in who judges (Judges), not in how.
//
// # Bounds
//
// What a Set keeps of a process is bounded (Options.Rows), and so is what it keeps
// of the run's events and of the rows on their way to the Monitor. The number of
// processes is not: the owner forgets those that have ended, or has the Set keep the
// latest of them only (Options.KeepEnded).
//
// # Locking
//
// A Set belongs to its owner, whose lock guards it: every method is called with
// Options.Lock held, but for Judge, Look and Finish, which take it themselves, hold
// it only to copy what they judge, and are for one goroutine. So a view shows a set
// and what it keeps beside it as of one moment.
//
// # Judging
//
// There is one loop. It gives the Monitor (package verdict) what came, and has the
// engine look at the processes that are due: first after so many rows that a program
// has set itself up, and again when the time watched has grown by a quarter; the one
// that somebody looks at each second. In between it rests, so that judging takes no
// more than its share of a core.
//
// The Monitor bounds false alarms over many processes, the engine over one run. Who
// has the last word is the owner's choice.
package live

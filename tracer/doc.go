// Package tracer records a run: it starts a program (Run) or joins one that
// runs (Attach), samples its memory from outside, listens to the agents inside
// (package agent), and writes the run folder (package record).
//
// # Rows
//
// A row is one process at one moment: its memory as the operating system sees
// it, the latest GPU bytes that a probe.Reader told (at most a few intervals old),
// and, if an agent's sample led to the row, that sample's values. Rows are
// taken
//
//   - at each sample of an agent, at most 1,000 a second and process, stamped
//     with the agent's own time, and with the host's values read on arrival, or
//     up to 20 ms later when an agent that knocks has lived for some seconds
//     (agent.Listen): not to be woken for each sample spares its program more
//     than the sample costs. When the tracer was kept from its work for longer
//     than that and an interval, such a row has no values of the host;
//   - at marks of phases and steps from agents that do not sample with them;
//   - by timer, each Config.Interval, for processes whose agents were silent
//     for one and a half intervals. The cells that only an agent knows are
//     empty in these rows; only the step is carried on.
//
// Every row has rss_bytes and rss_anon_bytes. The split into file and shared
// memory and the swap cost more to ask for, so they are in a row every 200 ms
// and at marks of phases; where the machine has no swap, swap_bytes and
// footprint_bytes are in every row all the same.
//
// Times are strictly ascending over the file: a row that would not be is moved
// to one microsecond after its neighbour. An agent's time that lies in the
// future, or before the run, is replaced by the time of arrival.
//
// # Processes
//
// Descendants of the traced program are looked for twice a second and followed
// as well, each with rows of its own; so is every process that connects as an
// agent. samples.csv has the column pid only once a second process was seen;
// rows with an empty pid, before, are of the program itself (Meta.PID). From
// then on each process is introduced by an event (record.KindProcess) with its
// name and, where its agent or its environment tells one, its rank; a single
// process is only when it has a rank. Names are what agents call a process, else
// its command line.
//
// # Secrets
//
// What looks like a secret in a command line, an environment or the word of an
// agent is masked before it is written (record.Writer) or becomes a warning;
// package secret has the rules. A command line is masked word by word before it
// is joined to a process's name: then a password with blanks is one word.
//
// # Marks
//
// Phases, scopes, statements and events of agents go to events.jsonl; the last
// three at most 2,000 a second and 1,000,000 a run, what is more is counted in
// a warning. Of steps the first 1,000 have an event each, then every 10th up
// to 10,000, every 100th up to 100,000 and so on; the column step has them all
// as far as there are rows.
//
// # Survivors
//
// Sites and holders that an agent tells of its own accord, or because
// Control.Ask asked, are events as they come; the last ones of a process count.
//
// # The end
//
// An agent that reaches the phase exiting is asked for the survivors by site
// and their holders, if it offers that, and, with Config.Purge, first for the
// experiments: sync, collect, purge, trim. Between them the tracer waits until
// the footprint rests, and writes what the program claimed to free and what the
// system got back as receipts. Then the program goes on to its end.
//
// # Our own defects
//
// A panic in any part of the recording ends the recording and nothing else: one
// warning says what and where, what was recorded stays readable, agents are let
// go, the program runs on, signals are still passed on to it, and Run returns at
// its end as ever. A panic on the caller's own goroutine is an error.
//
// # Signals
//
// The traced program is undisturbed by the end of its tracer, also by SIGKILL.
// On a terminal it stays in the tracer's process group: Ctrl-C, Ctrl-\, Ctrl-Z
// and a hang-up reach it from the terminal itself, and the tracer, which also
// gets them, only waits for it. (So INT, QUIT and HUP sent to the tracer alone,
// by kill, are not passed on there.) Elsewhere it is the leader of a group of
// its own, and what the tracer gets it passes on: INT, TERM, QUIT and HUP to
// that group, as a script runner means them, USR1 and USR2 to the program
// alone. Signals that the tracer was started to ignore stay ignored for both.
package tracer

// Package tracer records a run: it starts a program (Run) or joins one that
// runs (Attach), samples its memory from outside, listens to the agents inside
// (package agent), and writes the run folder (package record).
//
// # Rows
//
// A row is one process at one moment: its memory as the operating system sees
// it and the latest GPU bytes that a probe.Reader told (package sample has the
// rules of both), and, if an agent's sample led to the row, that sample's values.
// Rows are taken
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
// # Signals, process groups and the terminal
//
// The traced program is undisturbed by the end of its tracer, also by SIGKILL.
// Otherwise the program and the tracer are to be one job, which a terminal and a
// shell treat as they would treat the program alone. Two arrangements do that.
//
// In the foreground of a terminal the program stays in the tracer's process
// group. Ctrl-C, Ctrl-\, Ctrl-Z, a new size and a hang-up reach it from the
// terminal itself, and the tracer, which also gets them, only waits for it. (So
// INT, QUIT and HUP sent to the tracer alone, by kill, are not passed on there:
// a signal does not tell whether the whole group got it.) A group of its own in
// the foreground would be wrong: others of our pipeline or script, such as a
// pager, would lose the terminal.
//
// Elsewhere, in the background or without a terminal, the program leads a group
// of its own, so that it hears once what is sent to the tracer or to the
// tracer's whole group. The tracer passes on INT, TERM, QUIT, HUP, TSTP, CONT and
// WINCH to that group, as a terminal or a script runner means them; USR1, USR2,
// ALRM, VTALRM, IO, PWR and the real-time signals from 35 go to the program
// alone, in both arrangements. When a shell later brings the job to the foreground, it gives the
// terminal to our group, not to the program's. The program is then stopped by its
// first read of the terminal (SIGTTIN) or change of it (SIGTTOU). The tracer sees
// that, gives the terminal to the program's group and continues it, as a shell
// does with its jobs; from there the keys reach the program itself. At the
// program's end the terminal comes back to our group.
//
// A job stops and goes on as one. When the program has stopped for the terminal
// or for Ctrl-Z, the tracer stops itself by the same signal with its default
// action, which tells the shell; on SIGCONT it continues the program. A program
// that ignores Ctrl-Z stops neither. The kernel refuses to stop a process that
// nobody could continue, as where no shell with job control is: then the program
// is continued at once, so a key freezes nothing. SIGSTOP sent to the program
// alone stops only the program, and the recording goes on.
//
// Not passed on are CHLD and URG, PIPE, XFSZ, XCPU, PROF, TTIN and TTOU, which the
// system sends to the tracer for its own doings and which look the same when sent
// by kill, signals that report a fault, and 32 to 34, which Go leaves to threading libraries (34
// ends the tracer). What the tracer takes is not queued: of two equal real-time
// signals in quick succession the program may hear one.
//
// INT and HUP, TSTP and CONT that the tracer was started to ignore stay ignored
// for both; how other signals were set Go does not tell. Nor does it tell whether
// stdin, stdout or stderr were closed when we were started: the runtime opens
// the null device in their place before any of our code runs, in the same way as
// many parents do on purpose. The program then has the null device, too: it
// would be worse to close one that was given.
package tracer

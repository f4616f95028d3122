// Package diagnosis is what `gpumem diagnose` says of a machine: a scan of its
// processes and devices as text and as JSON, what the memory of a process is made
// of, which processes grow while they are watched, and which are left of a
// program that should be gone.
//
// It looks at nothing by itself but at the processes that it is told to watch and
// to take apart; the scan is handed in.
package diagnosis

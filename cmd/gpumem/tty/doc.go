// Package tty is the terminal that gpumem was started on: whether somebody looks at
// it, how wide it is, and the Keeper, a process that gives it back when gpumem ends
// without doing so.
package tty

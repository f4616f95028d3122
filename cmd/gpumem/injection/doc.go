// Package injection is what is done to a program so that it tells more of its memory
// than the system does: the Python agent and the interposer at its start, the agent and
// probes while it runs, whose code first touches new pages, and purges of its pools.
//
// Whatever fails is a warning: the program is more important than what would be
// learnt of it.
package injection

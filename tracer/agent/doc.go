// Package agent is the protocol by which a traced program tells its tracer
// what only the program knows, its Go client, and the tracer's end of it.
//
// # The protocol, version 1
//
// The tracer listens on a Unix stream socket and starts the program with
//
//	GPUMEM_AGENT=/path/of/the/socket
//	GPUMEM_INTERVAL_MS=50
//	GPUMEM_HOLD=1
//	GPUMEM_SETTLE_MS=400
//
// A program, or an agent inside it, connects once and both sides write JSON
// objects, one a line, each line ended by "\n" and at most 1 MiB long. Without
// GPUMEM_AGENT there is no tracer and the agent does nothing. When writing
// fails or the tracer closes, the agent stops for good and the program runs on;
// it must never block on the socket: what the socket does not take at once is
// kept in a bounded buffer or dropped and counted.
//
// Program to tracer:
//
//	{"hello":{"v":1,"pid":4711,"agent":"torch","device":"NVIDIA H200","actions":["collect","purge","sites"]}}
//
// comes first. pid is getpid() of the process that connected; a wrong one
// closes the connection. Optional keys: device, driver (names), unified_memory
// (true when GPU bytes are host memory), capacity_bytes (of the device),
// versions (object of strings), actions (what it does when asked). A hello may
// be repeated, with the same pid, to offer more actions; the last one counts.
//
//	{"sample":{"t_ns":123456789,"step":7,"pool_live_bytes":1048576,"live_count":3,"dropped":0}}
//
// is sent every GPUMEM_INTERVAL_MS and right after each step mark, at most
// 1,000 a second. t_ns is CLOCK_MONOTONIC in nanoseconds at which the values
// held (on Windows the performance counter); a sample without it is stamped on
// arrival. The other keys are columns of samples.csv (package record), the
// values integers; a value that is unknown is left out or null, never 0. Column
// names are 1 to 64 of the characters A-Z a-z 0-9 _ . - / : @. The process's
// own memory (rss…, swap…, footprint…), t_ms and pid are measured by the tracer
// and ignored here. dropped is the running total of lines not sent.
//
//	{"mark":{"t_ns":123456789,"kind":"phase","name":"baseline","at":"train.py:12:1"}}
//
// is a point in time: kind is step (with "step":N), phase, scope, statement or
// event; name, at ("file:line:col"), step and detail (any JSON) are optional.
// Three phases have a meaning: baseline, before the program takes anything;
// released, after it gave everything back; exiting, below. An agent waits
// GPUMEM_SETTLE_MS before it marks baseline or released: drivers tell late what
// a process took and gave back, and these two points are compared. A step may be told
// by a step mark or by the column step of a sample, whichever is at hand.
//
//	{"done":{"id":3,"claimed_bytes":4096,"count":1,"detail":{"sites":[{"site":"a.py:7 f","bytes":4096,"count":1}]}}}
//
// answers a request. claimed_bytes and count are what the program believes it
// freed, left out when unknown; error says why it could not. A sample sent just
// before done shows the state after the action.
//
// Tracer to program:
//
//	{"do":{"id":3,"action":"purge"}}
//
// asks for an action out of those offered: collect (the language's garbage),
// purge (idle memory of pools), trim (free host heap), sync (wait for the
// device), sites (survivors by allocation site, detail.sites), holders (who
// holds them, detail.holders: path, bytes, count). Actions are done one at a
// time, in order; one that is not known is answered with an error.
//
// The end: with GPUMEM_HOLD=1 the agent marks the phase exiting when its
// program is about to end, stays there and answers requests until it is told
//
//	{"do":{"id":9,"action":"continue"}}
//
// or the connection closes, or 60 seconds pass without a request. continue is
// not answered. The tracer sends it at once when it wants nothing. Without
// GPUMEM_HOLD=1 the agent marks exiting and goes.
//
// Both sides ignore keys, kinds and actions they do not know, so a newer side
// only adds; v grows when that is not enough, and a tracer reads every version
// up to its own. A line that is too long, is not JSON or comes before hello
// closes its connection, with a warning in the run and nothing else.
//
// The folder of the socket has mode 0700, and on Linux the tracer takes the
// peer's pid and user from the socket and accepts its own user and root.
package agent

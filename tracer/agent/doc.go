// Package agent is the protocol by which a traced program tells its tracer
// what only the program knows, its Go client, and the tracer's end of it.
//
// The protocol is JSON lines, both ways, over a Unix stream socket that the
// tracer names in GPUMEM_AGENT; docs/agent-protocol.md describes it for writers
// of other agents, and example/agent.c is one in C. Connect joins a tracer,
// Listen is its end.
//
// A program suffers nothing from its agent: without a tracer a nil Client does
// nothing; nothing waits for the socket, but where the tracer asked for it, at
// the phases baseline and released and at the end; and when the tracer dies the
// client is silent. A tracer suffers nothing from a program: lines, names and
// connections are bounded, and what is wrong costs its own connection.
package agent

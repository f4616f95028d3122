// Package selftest checks what of gpumem works on a machine. On each device a
// process of its own, the subject, holds memory of a known size and gives it up
// again; every account that should see that must, and must agree with what the
// system's own tools say of the same process.
//
// A [Report] names neither the machine nor its user nor a path, so that it can be
// pasted into a ticket as it is. What cannot work on a machine is [Absent], which
// is not [Wrong].
package selftest

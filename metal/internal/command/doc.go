// Package command is what the drivers of metal have in common: the books of a
// device, the state of queues, command buffers and encoders, the checks of
// arguments, and what keeps a resource alive until work that uses it has
// completed. It knows package metal and the kernels' table, no driver.
//
// A driver embeds Pipeline in its pipelines, gives its buffers the methods of
// Buffer (or takes HostBuffer), and makes queues with NewQueue, to which it
// passes its Driver: there stands what it does with committed work.
package command

// Package apple is the metal.Device of real Metal: Objective-C messages through
// purego, no cgo, no blocks. The frameworks are loaded when a device is opened;
// where there are none, Open says so in one line.
//
// It was never run on a Mac. The same files run on Linux, amd64 and arm64,
// against the fake of package appletest, which checks each message against
// Apple's published interface and keeps the rules that the real one keeps; that
// proves the calls and their order, not what Apple's driver makes of them.
//
// What is particular:
//
//   - Each transaction, releases included, runs on a locked OS thread inside an
//     autorelease pool of its own. So nothing is left outside Autorelease
//     scopes either, and Autorelease runs its function and nothing else.
//     Options.Faults.NoAutorelease leaves the pools out.
//   - Arguments are checked before a message is sent: an Objective-C exception
//     would end the process.
//   - A command buffer of Metal's is made with ours, which counts it; its
//     commands are encoded by Commit, in one transaction. A goroutine for each
//     queue waits for the completions in their order.
//   - A dispatch whose arguments do not fit is not encoded, nor what follows in
//     its command buffer; what precedes it runs. Parameters in buffers are read
//     by Commit, which waits for work in flight that writes them.
//   - Buffers are in shared storage, which the host addresses. They are emptied
//     before they are released, so that their pages go at once.
//   - A queue has at most 4,096 command buffers outstanding, whatever is asked.
//   - Kernels are compiled by the system when the device is opened, without
//     fast math, and one of them is run: a virtual machine's device may take
//     work and do none.
package apple

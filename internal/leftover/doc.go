// Package leftover finds the folders that killed processes left behind.
//
// A process that makes a temporary folder claims it: the folder then holds a
// file on which the process keeps a lock (flock). The kernel drops the lock
// when the process ends, however it ends. So a folder whose lock can be taken
// has no living owner, and Sweep removes it. Process numbers are not compared:
// they are used again, and differ between containers that share a folder.
//
// Sweep touches only folders of its own user that somebody claimed. It follows
// no symbolic link, and it never waits.
//
// A traced program may outlive the gpumem that was killed. What it still needs
// from a folder must have been read by then, or must lie elsewhere.
//
// Systems without flock (Windows) claim nothing and sweep nothing.
package leftover

// lockName is the file in a claimed folder that its owner keeps locked.
const lockName = ".owner"

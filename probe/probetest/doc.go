// Package probetest makes up machines out of files, so that tests of what reads
// /proc, /sys and /dev see processes and devices that are not there. The readers
// take the root of the file system as an option; [Root.Path] is that.
//
// What a test writes is what a kernel would: the texts of the files are the
// test's, taken from the kernel's documentation or from a real machine.
package probetest

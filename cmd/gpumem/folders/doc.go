// Package folders finds the run folders of this machine: those that lie in a folder,
// the newest of them, and the one that is being written.
package folders

// Package usage is what a user wrote wrong on the command line: the error for it, in
// one line, and the name that was probably meant.
package usage

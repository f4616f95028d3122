// Package loader opens the shared libraries of drivers and of systems while the
// program runs, and calls them, without cgo: they are there on some machines only, and their
// absence is the normal case.
//
// It works on linux, darwin and windows, amd64 and arm64; elsewhere, and with
// the build tag nodl, which makes a program without a dynamic loader, Open says
// so.
package loader

// Library is an open library; the zero value has no symbols. It is safe for
// concurrent use until Close.
type Library struct{ handle uintptr }

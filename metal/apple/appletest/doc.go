// Package appletest builds a fake of the Objective-C runtime and of Metal, so
// that tests of metal/apple and of what runs on it need no Mac: the very files
// that talk to a Mac talk to it, on amd64 and on arm64.
//
// The fake runs kernels.metal as C++ on a thread that is its GPU. It counts
// live objects, open autorelease pools and autoreleases without a pool, and it
// ends the process, with a line that says why, when something is done that the
// real one does not forgive or does not notice:
//
//   - a message to nil, to a freed object, with an unknown selector, or of a
//     shape other than Apple's interface has it (testdata/selectors.tsv)
//   - a pool popped on another thread than it was pushed on, or out of order
//   - an encoder that goes, or a command buffer that is committed, without
//     endEncoding; a commit twice, a wait without one
//
// BOOLs have junk above their byte and methods without a result leave junk in
// the result's register. It is written from Apple's documentation and from what
// others report of the real one (see each comment); it shows that the calls are
// right and in order, not what Apple's driver makes of them. It needs a C and a
// C++ compiler; it is meant for Linux.
package appletest

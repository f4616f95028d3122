//go:build !(darwin || linux) || !(amd64 || arm64) || nodl

package apple

import "runtime"

// load refuses: this build loads no library, or Apple has no Metal for this
// system.
func load(string) (*objc, error) {
	return nil, &Error{Op: "load Metal", Text: "this program was built for " + runtime.GOOS + "/" +
		runtime.GOARCH +
		" without a way to load it", is: ErrNoMetal}
}

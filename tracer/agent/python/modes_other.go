//go:build !windows

package python

// modes says that the permission bits of a folder mean what they say.
const modes = true

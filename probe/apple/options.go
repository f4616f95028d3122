package apple

import "runtime"

// Options name the libraries; tests put theirs in the place. The zero value is
// the system's on macOS and nothing elsewhere.
type Options struct{ System, IOKit, CoreFoundation string }

// withDefaults are the options with the system's own libraries for what is
// empty. They stand in the loader's cache, not as files.
func (o Options) withDefaults() Options {
	if runtime.GOOS != "darwin" {
		return o
	}
	for _, d := range []struct {
		field *string
		path  string
	}{
		{&o.System, "/usr/lib/libSystem.B.dylib"},
		{&o.IOKit, "/System/Library/Frameworks/IOKit.framework/IOKit"},
		{&o.CoreFoundation, "/System/Library/Frameworks/CoreFoundation.framework/CoreFoundation"},
	} {
		if *d.field == "" {
			*d.field = d.path
		}
	}
	return o
}

package pool

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"sync"
)

// siteDepth is how many return addresses are looked at first; a caller below
// more frames of skipped packages costs a second, deeper look.
const (
	siteDepth     = 8
	siteDeepDepth = 64
)

// site is one place in the program that asks for buffers.
type site struct {
	file, function string
	line           int
}

// String is "file:line func", empty for a site that is not known.
func (s *site) String() string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d %s", s.file, s.line, s.function)
}

// sites knows call sites by return address, so that each address is turned
// into text once.
type sites struct {
	skip  []string // import paths
	known sync.Map // uintptr → *site; nil for an address that is passed over
}

func newSites(skipPackages []string) *sites {
	own := reflect.TypeFor[Pool]().PkgPath()
	return &sites{skip: append([]string{own}, skipPackages...)}
}

// caller returns the site of the first frame that is not skipped, nil when
// there is none.
func (t *sites) caller() *site {
	var pcs [siteDepth]uintptr
	// One frame is skipped: runtime.Callers itself.
	n := runtime.Callers(1, pcs[:])
	if s := t.first(pcs[:n]); s != nil || n < siteDepth {
		return s
	}
	var deep [siteDeepDepth]uintptr
	return t.first(deep[:runtime.Callers(1, deep[:])])
}

func (t *sites) first(pcs []uintptr) *site {
	for _, pc := range pcs {
		known, ok := t.known.Load(pc)
		if !ok {
			known, _ = t.known.LoadOrStore(pc, t.resolve(pc))
		}
		if s := known.(*site); s != nil {
			return s
		}
	}
	return nil
}

// resolve returns the innermost frame at pc, inlined ones included, that is
// not skipped.
func (t *sites) resolve(pc uintptr) *site {
	frames := runtime.CallersFrames([]uintptr{pc})
	for {
		f, more := frames.Next()
		if f.Function != "" && !t.skipped(f.Function) {
			return &site{file: f.File, function: f.Function, line: f.Line}
		}
		if !more {
			return nil
		}
	}
}

func (t *sites) skipped(function string) bool {
	for _, path := range t.skip {
		rest, ok := strings.CutPrefix(function, path)
		if ok && rest != "" && (rest[0] == '.' || rest[0] == '/') {
			return true
		}
	}
	return false
}

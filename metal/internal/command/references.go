package command

import "github.com/gpumem/gpumem/metal"

// References count who holds a buffer, a pipeline or a heap: its owner, who gives it up
// once, and others beside it, such as command buffers. The zero value is the owner's
// alone. The lock of what is held guards them.
type References struct {
	more     int // than one
	released bool
}

// Released reports whether the owner has given up.
func (r *References) Released() bool { return r.released }

// Shared reports whether more than one reference is held.
func (r *References) Shared() bool { return r.more > 0 }

// Release notes that the owner gives up; its reference goes by Drop. A second call
// returns metal.ErrReleased.
func (r *References) Release() error {
	if r.released {
		return metal.ErrReleased
	}
	r.released = true
	return nil
}

// Retain adds a reference. Once the owner has given up it returns metal.ErrReleased.
func (r *References) Retain() error {
	if r.released {
		return metal.ErrReleased
	}
	r.more++
	return nil
}

// Drop takes a reference back and reports whether it was the last.
func (r *References) Drop() (last bool) {
	r.more--
	return r.more < 0
}

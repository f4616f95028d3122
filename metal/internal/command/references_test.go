package command

import (
	"errors"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func TestTheLastOfTheReferencesIsToldOnceAndNoneIsAddedAfterTheOwner(t *testing.T) {
	t.Parallel()
	var r References
	if err := r.Retain(); err != nil || !r.Shared() || r.Released() {
		t.Fatalf("a second reference: %v, shared %v, released %v", err, r.Shared(), r.Released())
	}
	if err := r.Release(); err != nil || !r.Released() {
		t.Fatalf("the owner gives up: %v, released %v", err, r.Released())
	}
	if r.Drop() {
		t.Error("the owner's reference was told as the last, beside another")
	}
	if err := r.Release(); !errors.Is(err, metal.ErrReleased) {
		t.Errorf("the owner gives up twice: %v", err)
	}
	if err := r.Retain(); !errors.Is(err, metal.ErrReleased) || r.Shared() {
		t.Errorf("a reference after the owner: %v, shared %v", err, r.Shared())
	}
	if !r.Drop() {
		t.Error("the last reference was not told")
	}
}

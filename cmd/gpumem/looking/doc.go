// Package looking says what `gpumem look` saw: what one process holds at one moment, as
// text and as JSON, and what grew between two looks.
//
// What nobody tells is absent, never zero: a pointer is nil, a list is empty.
package looking

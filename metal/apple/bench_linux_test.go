//go:build linux && (amd64 || arm64)

package apple_test

import (
	"testing"

	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/apple/appletest"
)

// BenchmarkLaunch is one dispatch in a command buffer, from its making to the
// end of its wait: what Go, purego and the fake's checks take, which is not
// what a Mac takes.
func BenchmarkLaunch(b *testing.B) {
	m := newMachine(b, apple.Options{Library: appletest.Copy(b, fake)})
	b.ReportAllocs()
	for b.Loop() {
		c := m.fill(1)
		must(b, c.Wait())
		must(b, c.Release())
	}
	m.close()
}

// BenchmarkTransaction is a message in a pool of its own on a locked thread.
func BenchmarkTransaction(b *testing.B) {
	d := mustOpen(b, apple.Options{Library: appletest.Copy(b, fake)})
	b.ReportAllocs()
	for b.Loop() {
		d.DriverBytes()
	}
	must(b, d.Close())
}

func BenchmarkNewBufferAndRelease(b *testing.B) {
	d := mustOpen(b, apple.Options{Library: appletest.Copy(b, fake)})
	b.ReportAllocs()
	for b.Loop() {
		x, err := d.NewBuffer(4, "")
		must(b, err)
		must(b, x.Release())
	}
	must(b, d.Close())
}

//go:build linux && (amd64 || arm64)

package apple_test

import (
	"errors"
	"io"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/apple"
	"github.com/gpumem/gpumem/metal/apple/appletest"
	"github.com/gpumem/gpumem/metal/metaltest"
)

func TestBuffersOfAHeapTakeNothingFromTheSystem(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake)
	m := newMachine(t, apple.Options{Library: library})
	h, err := m.device.NewHeap(1<<20, "scratch")
	must(t, err)
	before, bytes := m.device.Usage(), m.device.DriverBytes()
	if takes, align := m.device.Room(100); takes != 256 || align != 256 {
		t.Errorf("a buffer of 100 B takes %d B, aligned to %d", takes, align)
	}
	b, err := h.NewBuffer(1000, "part")
	must(t, err)
	if u := m.device.Usage(); u != before || m.device.DriverBytes() != bytes {
		t.Errorf("a part of a heap moved the usage from %+v to %+v", before, u)
	}
	if u := h.Usage(); u.Size != 1<<20 || u.Used != 1024 || u.Available != 1<<20-1024 ||
		b.AllocatedSize() != 1024 {
		t.Errorf("the heap says %+v, the buffer %d B", u, b.AllocatedSize())
	}
	if n, err := b.WriteAt([]byte("part"), 996); n != 4 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if b.SetPurgeable(metal.Volatile) != metal.NonVolatile ||
		h.SetPurgeable(metal.KeepCurrent) != metal.NonVolatile {
		t.Error("a part's state moved the heap's")
	}
	got := make([]byte, 8)
	if n, err := b.ReadAt(got, 996); n != 4 || err != io.EOF || string(got[:n]) != "part" {
		t.Errorf("read %q, %v", got[:n], err)
	}
	if _, err := h.NewBuffer(1<<20, "too much"); !errors.Is(err, metal.ErrOutOfMemory) {
		t.Errorf("more than is left: error %v", err)
	}
	for _, length := range []uint64{0, 1<<20 + 1} {
		if _, err := h.NewBuffer(length, ""); !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("%d B: error %v", length, err)
		}
	}
	must(t, h.Release())
	if u := m.device.Usage(); u != before {
		t.Errorf("a heap whose buffer lives left the usage: %+v", u)
	}
	if _, err := h.NewBuffer(1, ""); !errors.Is(err, metal.ErrReleased) {
		t.Errorf("of a released heap: error %v", err)
	}
	if err := h.Release(); !errors.Is(err, metal.ErrReleased) {
		t.Errorf("released twice: error %v", err)
	}
	must(t, b.Release())
	if u := m.device.Usage(); u.Buffers != before.Buffers-1 ||
		u.AllocatedBytes != before.AllocatedBytes-1<<20 {
		t.Errorf("usage after the last of a heap is %+v", u)
	}
	m.close()
	nothingIsLeft(t, library)
}

// TestMemoryGoesBackEmpty looks at pages: emptied ones come back as zeros, and
// nothing is released with them.
func TestMemoryGoesBackEmpty(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake)
	d := mustOpen(t, apple.Options{Library: library})
	before := count(t, library, "unemptied")
	b, err := d.NewBuffer(1<<20, "")
	must(t, err)
	h, err := d.NewHeap(1<<20, "")
	must(t, err)
	if _, err := b.WriteAt([]byte("full"), 1<<19); err != nil {
		t.Fatal(err)
	}
	b.SetPurgeable(metal.Empty)
	b.SetPurgeable(metal.NonVolatile)
	if got := string(b.Contents()[1<<19 : 1<<19+4]); got != "\x00\x00\x00\x00" {
		t.Errorf("an emptied buffer still holds %q", got)
	}
	must(t, errors.Join(b.Release(), h.Release()))
	if got := count(t, library, "unemptied"); got != before {
		t.Errorf("%d of a buffer and a heap were released with their pages", got-before)
	}
	must(t, d.Close())
	nothingIsLeft(t, library)
}

// TestAHeapsBufferIsKeptByTheWorkThatUsesIt, as every other.
func TestAHeapsBufferIsKeptByTheWorkThatUsesIt(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake, "lag_us 2000")
	m := newMachine(t, apple.Options{Library: library})
	must(t, m.buffer.Release())
	h, err := m.device.NewHeap(4096, "")
	must(t, err)
	m.buffer, err = h.NewBuffer(4, "")
	must(t, err)
	c := m.fill(7)
	must(t, h.Release())
	must(t, c.Wait())
	if got := m.value(); got != 7 {
		t.Errorf("the work left %v, want 7", got)
	}
	must(t, c.Release())
	m.close()
	nothingIsLeft(t, library)
}

func TestAResidencySetHoldsItsMembersUntilTheirRemovalIsCommitted(t *testing.T) {
	t.Parallel()
	library := appletest.Copy(t, fake)
	m := newMachine(t, apple.Options{Library: library})
	r, err := m.device.NewResidencySet("weights")
	must(t, err)
	before := m.device.DriverBytes()
	b, err := m.device.NewBuffer(1<<20, "weights")
	must(t, err)
	must(t, errors.Join(r.Add(b), r.Add(b), r.Commit(), r.Request(), r.Attach(m.queue)))
	if n, err := r.AllocatedBytes(); n != 1<<20 || err != nil {
		t.Errorf("the set has %d B, %v", n, err)
	}
	must(t, m.fill(1).Wait())
	must(t, b.Release())
	if u := m.device.Usage(); u.Buffers != 1 || m.device.DriverBytes() != before+1<<20 {
		t.Errorf("usage %+v, the driver says %d B; want the buffer out of the one and in the other",
			u, m.device.DriverBytes())
	}
	must(t, r.Remove(b))
	if got := m.device.DriverBytes(); got != before+1<<20 {
		t.Errorf("before the commit of its removal the driver says %d B", got)
	}
	must(t, r.Commit())
	if got := m.device.DriverBytes(); got != before {
		t.Errorf("after the commit of its removal the driver says %d B, want %d", got, before)
	}
	must(t, errors.Join(r.Remove(b), r.End(), r.Detach(m.queue)))
	if err := r.Add(b); !errors.Is(err, metal.ErrReleased) {
		t.Errorf("adding a released buffer: error %v", err)
	}
	if err := r.Add(nil); !errors.Is(err, metal.ErrInvalid) {
		t.Errorf("adding no buffer: error %v", err)
	}
	must(t, r.Attach(m.queue)) // the queue lets it go
	must(t, r.Release())
	for _, err := range []error{r.Release(), r.Commit(), r.Attach(m.queue)} {
		if !errors.Is(err, metal.ErrReleased) {
			t.Errorf("of a released set: error %v", err)
		}
	}
	m.close()
	nothingIsLeft(t, library)
}

func TestOldSystemsHaveNoResidencySets(t *testing.T) {
	t.Parallel()
	for _, conf := range []string{"without newResidencySetWithDescriptor:error:",
		"residency_error not today"} {
		library := appletest.Copy(t, fake, conf)
		d := mustOpen(t, apple.Options{Library: library})
		_, err := d.NewResidencySet("")
		want, says := apple.ErrOldSystem, "newResidencySetWithDescriptor:error:"
		if conf == "residency_error not today" {
			want, says = metal.ErrOutOfMemory, "not today"
		}
		metaltest.OneLine(t, err, want, says)
		must(t, d.Close())
		nothingIsLeft(t, library)
	}
}

func TestForeignThingsStayOutOfAResidencySet(t *testing.T) {
	t.Parallel()
	one := newMachine(t, apple.Options{Library: appletest.Copy(t, fake)})
	other := newMachine(t, apple.Options{Library: appletest.Copy(t, fake)})
	r, err := one.device.NewResidencySet("")
	must(t, err)
	for _, err := range []error{r.Add(other.buffer), r.Attach(other.queue), r.Attach(nil)} {
		if !errors.Is(err, metal.ErrInvalid) {
			t.Errorf("error %v", err)
		}
	}
	must(t, r.Release())
	one.close()
	other.close()
}

package metaltest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/gpumem/gpumem/metal"
)

func bufferTests() []test {
	return []test{
		{"it has its length and label in whole pages", roundsToPages},
		{"no length is zero or beyond the maximum", func(t *testing.T, s *suite) {
			dev := s.open(t)
			for _, n := range []uint64{0, dev.Info().MaxBufferLength + 1, ^uint64(0),
				^uint64(0) - dev.Info().PageSize} {
				_, err := dev.NewBuffer(n, "")
				wants(t, err, metal.ErrInvalid)
			}
			if u := dev.Usage(); u != (metal.Usage{}) {
				t.Errorf("refused buffers count: %+v", u)
			}
		}},
		{"what was written is read", readsBack},
		{"reading past the end is EOF", readsToEnd},
		{"writing past the end is a short write", writesToEnd},
		{"contents are the memory itself where the host can address it", contents},
		{"a released one reads, writes and releases nothing", releasedBuffer},
	}
}

func roundsToPages(t *testing.T, s *suite) {
	dev := s.open(t)
	page := dev.Info().PageSize
	for _, n := range []uint64{1, 4, page - 1, page, page + 1, 3*page - 1, 3 * page} {
		before := dev.Usage()
		b, err := dev.NewBuffer(n, "a label")
		must(t, err)
		if b.Length() != n || b.Label() != "a label" {
			t.Errorf("length %d label %q, want %d and %q", b.Length(), b.Label(), n, "a label")
		}
		want := (n + page - 1) / page * page
		if b.AllocatedSize() != want {
			t.Errorf("%d B are allocated as %d B, want %d", n, b.AllocatedSize(), want)
		}
		u := dev.Usage()
		if u.AllocatedBytes-before.AllocatedBytes != int64(want) || u.Buffers-before.Buffers != 1 ||
			u.TotalBuffers-before.TotalBuffers != 1 {
			t.Errorf("a buffer of %d B moved the usage from %+v to %+v", n, before, u)
		}
		must(t, b.Release())
		u = dev.Usage()
		if before.TotalBuffers++; u != before {
			t.Errorf("usage is %+v after the release, want %+v", u, before)
		}
	}
}

func readsBack(t *testing.T, s *suite) {
	dev := s.open(t)
	n := 2*dev.Info().PageSize + 5
	b := s.buffer(t, dev, n)
	want := make([]byte, n)
	for i := range want {
		want[i] = byte(i * 7)
	}
	if got, err := b.WriteAt(want, 0); got != len(want) || err != nil {
		t.Fatalf("wrote %d, %v", got, err)
	}
	patch := []byte{1, 2, 3}
	at := int64(dev.Info().PageSize) - 1
	copy(want[at:], patch)
	if got, err := b.WriteAt(patch, at); got != 3 || err != nil {
		t.Fatalf("wrote %d, %v", got, err)
	}
	got := make([]byte, n)
	if m, err := b.ReadAt(got, 0); m != len(got) || err != nil && err != io.EOF {
		t.Fatalf("read %d, %v", m, err)
	}
	if !bytes.Equal(got, want) {
		t.Error("other bytes came back")
	}
}

func readsToEnd(t *testing.T, s *suite) {
	b := s.buffer(t, s.open(t), 10)
	for _, c := range []struct {
		at      int64
		p, want int
		err     error
	}{
		{0, 0, 0, nil}, {0, 9, 9, nil}, {5, 6, 5, io.EOF}, {9, 100, 1, io.EOF},
		{10, 1, 0, io.EOF}, {11, 1, 0, io.EOF}, {1 << 40, 1, 0, io.EOF}, {-1, 1, 0, metal.ErrInvalid},
	} {
		n, err := b.ReadAt(make([]byte, c.p), c.at)
		if n != c.want || !errors.Is(err, c.err) {
			t.Errorf("reading %d B at %d of 10: %d, %v; want %d, %v", c.p, c.at, n, err, c.want, c.err)
		}
	}
}

func writesToEnd(t *testing.T, s *suite) {
	b := s.buffer(t, s.open(t), 10)
	for _, c := range []struct {
		at      int64
		p, want int
		err     error
	}{
		{0, 0, 0, nil}, {0, 10, 10, nil}, {5, 6, 5, io.ErrShortWrite}, {9, 100, 1, io.ErrShortWrite},
		{10, 1, 0, io.ErrShortWrite}, {1 << 40, 1, 0, io.ErrShortWrite}, {-1, 1, 0, metal.ErrInvalid},
	} {
		n, err := b.WriteAt(bytes.Repeat([]byte{9}, c.p), c.at)
		if n != c.want || !errors.Is(err, c.err) {
			t.Errorf("writing %d B at %d of 10: %d, %v; want %d, %v", c.p, c.at, n, err, c.want, c.err)
		}
	}
}

func contents(t *testing.T, s *suite) {
	b := s.buffer(t, s.open(t), 10)
	memory := b.Contents()
	if !s.can.Contents {
		if memory != nil {
			t.Error("contents of memory that the host cannot address")
		}
		return
	}
	if len(memory) != 10 || cap(memory) != 10 {
		t.Fatalf("contents of length %d and capacity %d, want 10", len(memory), cap(memory))
	}
	memory[9] = 77
	got := make([]byte, 1)
	if _, err := b.ReadAt(got, 9); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	if got[0] != 77 {
		t.Errorf("read %d, want what the contents hold, 77", got[0])
	}
	must(t, b.Release())
	if b.Contents() != nil {
		t.Error("contents of a released buffer")
	}
}

func releasedBuffer(t *testing.T, s *suite) {
	b := s.buffer(t, s.open(t), 10)
	must(t, b.Release())
	_, err := b.ReadAt(make([]byte, 1), 0)
	wants(t, err, metal.ErrReleased)
	_, err = b.WriteAt(make([]byte, 1), 0)
	wants(t, err, metal.ErrReleased)
	wants(t, b.Release(), metal.ErrReleased)
	if b.Length() != 10 || b.Label() == "" {
		t.Error("a released buffer forgot its length or label")
	}
}

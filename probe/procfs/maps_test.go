package procfs

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const smaps = `55d0c0000000-55d0c0100000 r-xp 00000000 fe:00 1234                       /usr/bin/prog
Size:               1024 kB
Rss:                 512 kB
Pss:                 256 kB
Private_Clean:       100 kB
Private_Dirty:         0 kB
VmFlags: rd ex mr mw me
55d0c1000000-55d0c2000000 rw-p 00000000 00:00 0                          [heap]
Size:              16384 kB
Rss:                8192 kB
Private_Clean:         0 kB
Private_Dirty:      8192 kB
Anonymous:          8192 kB
7f0000000000-7f0000100000 rw-s 00000000 00:05 77                         /dev/nvidia-uvm
Size:               1024 kB
Rss:                   0 kB
7f0010000000-7f0010100000 r--p 00000000 fe:00 99                         /tmp/a\012b (deleted)
Size:               1024 kB
Rss:                  12 kB
7f0020000000-7f0020100000 rw-p 00000000 00:00 0
Rss:                  oops
7f0030000000-7f0030100000 rw-p 00000000 00:00 0 
Rss:                   4 kB
Private_Hugetlb:    2048 kB
Shared_Hugetlb:     4096 kB
`

func TestScannerSurvivesEveryCutOfItsInput(t *testing.T) {
	t.Parallel()
	whole := count(strings.NewReader(smaps))
	if got := count(iotest.OneByteReader(strings.NewReader(smaps))); got != whole {
		t.Errorf("byte by byte: %d entries, want %d", got, whole)
	}
	for i := range len(smaps) {
		if got := count(strings.NewReader(smaps[:i])); got > whole {
			t.Fatalf("cut at %d: %d entries", i, got)
		}
	}
	long := "1000-2000 r--p 00000000 00:00 0 /" + strings.Repeat("x", 2*maxLine) + "\n" + smaps
	s := NewScanner(strings.NewReader(long))
	n := 0
	for s.Scan() {
		n++
	}
	if n != whole || s.Bad() != 2 {
		t.Errorf("after a line that is too long: %d entries, %d bad", n, s.Bad())
	}
	s = NewScanner(iotest.ErrReader(io.ErrClosedPipe))
	if s.Scan() || !errors.Is(s.Err(), io.ErrClosedPipe) {
		t.Errorf("a broken reader: %v", s.Err())
	}
}

func count(r io.Reader) int {
	s := NewScanner(r)
	n := 0
	for s.Scan() {
		n++
	}
	return n
}

func FuzzMappings(f *testing.F) {
	f.Add([]byte(smaps))
	f.Add([]byte("0-0 ---- 0 : 0\nRss: 9223372036854775807 kB\nRss: 9007199254740991 kB\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewScanner(bytes.NewReader(b))
		for s.Scan() {
			if m, u := s.Mapping(), s.Usage(); m.End < m.Start || u.RSS < Unknown || u.Hugetlb < Unknown {
				t.Fatalf("impossible entry %+v %+v", m, u)
			}
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
	})
}

package soft

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"unsafe"
)

func TestAStoreGivesZeroedMemoryThatNoOtherHolds(t *testing.T) {
	t.Parallel()
	var s store
	r := rand.New(rand.NewPCG(1, 2))
	held := map[int]region{}
	for i := range 4000 {
		if at := r.IntN(200); len(held[at].memory) > 0 {
			got := held[at]
			delete(held, at)
			if !bytes.Equal(got.memory[:8], bytes.Repeat([]byte{byte(at)}, 8)) ||
				got.memory[len(got.memory)-1] != byte(at) {
				t.Fatalf("region %d was written by another", at)
			}
			if err := s.put(got); err != nil {
				t.Fatal(err)
			}
		}
		at := r.IntN(200)
		if len(held[at].memory) > 0 {
			continue
		}
		n := pageSize * (1 + r.IntN(4))
		if i%50 == 0 {
			n = smallLength + pageSize*r.IntN(3)
		}
		got, err := s.get(n)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.memory) != n || cap(got.memory) != n ||
			uintptr(unsafe.Pointer(&got.memory[0]))%pageAlignment != 0 {
			t.Fatalf("asked for %d B, got %d of capacity %d", n, len(got.memory), cap(got.memory))
		}
		if len(bytes.Trim(got.memory, "\x00")) > 0 {
			t.Fatal("the memory is not zeroed")
		}
		for j := range got.memory {
			got.memory[j] = byte(at)
		}
		held[at] = got
	}
	for _, one := range held {
		if err := s.put(one); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.close(); err != nil || len(s.slabs) != 0 {
		t.Errorf("closed with error %v and %d slabs", err, len(s.slabs))
	}
}

// pageAlignment is the least that a region's address is a multiple of: the
// system's page, which is 4 KiB or more.
const pageAlignment = 4 << 10

func TestAStoreKeepsOneEmptySlabAClassAndFillsEachToItsEnd(t *testing.T) {
	t.Parallel()
	for _, n := range []int{pageSize, 3 * pageSize, smallLength} {
		var s store
		slots := slabLength / n
		var all []region
		for range 3*slots + 1 {
			r, err := s.get(n)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		if len(s.slabs) != 4 {
			t.Errorf("%d slots of %d B are in %d slabs, want 4", len(all), n, len(s.slabs))
		}
		for _, r := range all {
			if err := s.put(r); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.slabs) != 1 {
			t.Errorf("%d empty slabs are kept, want 1", len(s.slabs))
		}
		if err := errors.Join(s.close(), s.close()); err != nil {
			t.Error(err)
		}
	}
}

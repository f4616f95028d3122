package soft_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/gpumem/gpumem/metal"
	"github.com/gpumem/gpumem/metal/soft"
)

// resident is the resident size of this process, from /proc/self/statm.
var resident = func() (int64, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0, err
	}
	return pages * int64(os.Getpagesize()), nil
}

// Not parallel, as all that read the resident size.
func TestTheResidentSizeFollowsTemporaries(t *testing.T) {
	const launches = 16 << 10 // 32 MiB
	dev := open(t, soft.Options{WorkingSet: 1 << 30})
	q, err := dev.NewQueue(0)
	must(t, err)
	before, err := resident()
	must(t, err)
	var inside int64
	dev.Autorelease(func() {
		for range launches {
			launch(t, q)
		}
		inside, err = resident()
	})
	must(t, err)
	after, err := resident()
	must(t, err)
	const most = launches * 2 << 10 * 3 / 4
	if inside-before < most || inside-after < most {
		t.Errorf("resident %d B before, %d B in the scope, %d B after; temporaries are %d B", before,
			inside, after, launches*2<<10)
	}
	must(t, q.Release())
	must(t, dev.Close())
}

// An untouched buffer costs nothing of the machine's memory.
func TestBuffersAreResidentOnlyWhereTouched(t *testing.T) {
	dev := open(t, soft.Options{WorkingSet: 4 << 30})
	before, err := resident()
	must(t, err)
	b, err := dev.NewBuffer(2<<30, "large")
	must(t, err)
	const touched = 64 << 20
	_, err = b.WriteAt(make([]byte, touched), 1<<30)
	must(t, err)
	after, err := resident()
	must(t, err)
	if grown := after - before; grown < touched*3/4 || grown > 4*touched {
		t.Errorf("touching 64 MiB of 2 GiB moved the resident size by %d B", grown)
	}
	must(t, b.Release())
	must(t, dev.Close())
}

func TestAPipelineTakesMemoryUntilItIsReleased(t *testing.T) {
	const pipelines = 500
	const memory = pipelines * 128 << 10
	dev := open(t, soft.Options{WorkingSet: 1 << 30})
	before, err := resident()
	must(t, err)
	var made []metal.Pipeline
	for range pipelines {
		p, err := dev.NewPipeline("affine")
		must(t, err)
		made = append(made, p)
	}
	inside, err := resident()
	must(t, err)
	if got := dev.Usage().AllocatedBytes; got != 0 {
		t.Errorf("pipelines are in the driver's counters: %d B", got)
	}
	for _, p := range made {
		must(t, p.Release())
	}
	after, err := resident()
	must(t, err)
	const most = memory * 3 / 4
	if inside-before < most || inside-after < most {
		t.Errorf("resident %d B before, %d B with pipelines, %d B after; they take %d B", before, inside,
			after, memory)
	}
	must(t, dev.Close())
}

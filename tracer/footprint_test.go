package tracer

import (
	"testing"

	"github.com/gpumem/gpumem/probe"
)

func TestAFootprintThatTheSystemTellsIsNotReplacedByTheResidentSize(t *testing.T) {
	t.Parallel()
	r := &recording{noSwap: true}
	told := probe.UnknownMemory()
	told.RSS, told.Footprint = 100, 300 // as macOS tells, whose compressed pages are no swap
	r.completeSwap(&told)
	if told.Footprint != 300 {
		t.Errorf("footprint %d, want the 300 B that were told", told.Footprint)
	}
	quick := probe.UnknownMemory()
	quick.RSS = 100
	r.completeSwap(&quick)
	if quick.Footprint != 100 || quick.Swap != 0 {
		t.Errorf("%+v, want the resident size where nothing can be swapped", quick)
	}
}

func TestToolsThatKeepMemoryAreRecordedOfTheEnvironment(t *testing.T) {
	t.Parallel()
	got := relevantEnv([]string{"NSZombieEnabled=YES", "OBJC_DEBUG_MISSING_POOLS=YES", "MallocStackLogging=1", "HOME=/root"})
	if len(got) != 3 || got["NSZombieEnabled"] != "YES" {
		t.Errorf("%v", got)
	}
}

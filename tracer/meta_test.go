package tracer

import "testing"

func TestToolsThatKeepMemoryAreRecordedOfTheEnvironment(t *testing.T) {
	t.Parallel()
	got := relevantEnv([]string{"NSZombieEnabled=YES", "OBJC_DEBUG_MISSING_POOLS=YES", "MallocStackLogging=1",
		"HOME=/root"})
	if len(got) != 3 || got["NSZombieEnabled"] != "YES" {
		t.Errorf("%v", got)
	}
}

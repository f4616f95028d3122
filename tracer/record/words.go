package record

import "strings"

// Account is one of the four that every byte of growth is charged to.
type Account string

// The accounts.
const (
	AccountLive      Account = "live"      // handed out and still referenced by the program
	AccountIdle      Account = "idle"      // kept by a pool, referenced by nobody
	AccountUntracked Account = "untracked" // what the driver charges beyond live and idle
	AccountHost      Account = "host"      // growth of the footprint outside of all the others
)

// Actions that a tracer may ask a program for. The outcome of the first four
// is a receipt; sites and holders are lists; a composition comes as an event of
// KindComposition.
const (
	ActionCollect = "collect" // collect the language's garbage
	ActionPurge   = "purge"   // give idle memory of pools back
	ActionTrim    = "trim"    // give free host heap back to the operating system
	ActionSync    = "sync"    // wait for the device
	ActionSites   = "sites"   // list survivors by allocation site
	ActionHolders = "holders" // list who holds them

	ActionComposition = "composition" // tell what live memory is made of
)

// Phases with a meaning for the verdict: what an account holds at released
// beyond baseline is a leftover, and what follows exiting is teardown.
const (
	PhaseBaseline = "baseline"
	PhaseReleased = "released"
	PhaseExiting  = "exiting"
)

// SetupWord is the word by which the name of a phase says that the program sets
// itself up in it, in lower case. Growth in such a phase is no growth of its
// work. It reports false for any other name.
func SetupWord(phase string) (word string, ok bool) {
	lower := strings.ToLower(phase)
	for _, word := range [...]string{"load", "setup", "warm", "compile", "init"} {
		if strings.HasPrefix(lower, word) {
			return word, true
		}
	}
	return "", false
}

// Limits that growth runs into: keys of Meta.CapacityBytes.
const (
	LimitDevice = "device memory"
	LimitCgroup = "cgroup"
	LimitHost   = "host memory"
)

// Kinds of a device's memory, as the allocation server and its clients name
// them.
const (
	MemoryDRAM    = "DRAM"
	MemoryL1      = "L1"
	MemorySystem  = "SYSTEM_MEMORY"
	MemoryL1Small = "L1_SMALL"
	MemoryTrace   = "TRACE"
)

// MemoryColumn is the column of a kind of a device's memory; kinds that are not
// among the Memory names share one.
func MemoryColumn(memory string) string {
	switch memory {
	case MemoryDRAM:
		return ColDRAM
	case MemoryL1:
		return ColL1
	case MemorySystem:
		return ColSystemMemory
	case MemoryL1Small:
		return ColL1Small
	case MemoryTrace:
		return ColTrace
	}
	return ColOtherMemory
}

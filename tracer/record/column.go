package record

import (
	"strconv"
	"strings"
)

// knownColumns are the columns with a meaning of their own. Their values are
// never negative, except the time.
func knownColumn(base string) bool {
	switch base {
	case ColTime, ColPID, ColStep, ColRSS, ColRSSAnon, ColRSSFile, ColRSSShmem, ColSwap, ColFootprint,
		ColHostHeap, ColGPU, ColLive, ColIdle, ColLiveCount, ColIdleCount, ColRefs, ColScopeDepth,
		ColInFlight, ColCommands, ColCommandBuffers, ColAllocs, ColFrees, ColPoolHits, ColPoolMisses,
		ColShapes, ColPipelines, ColDropped:
		return true
	}
	return false
}

// SplitDevice parts a per-device column from its device: "gpu_bytes@1" gives
// "gpu_bytes", 1, true. A column without "@N" comes back as it is, with -1 and
// false.
func SplitDevice(column string) (base string, device int, ok bool) {
	i := strings.LastIndexByte(column, '@')
	if i < 0 {
		return column, -1, false
	}
	n, err := strconv.Atoi(column[i+1:])
	if err != nil || n < 0 || column[i+1] == '+' {
		return column, -1, false
	}
	return column[:i], n, true
}

// Known reports whether column, less its "@N", is one of the Col names.
func Known(column string) bool {
	base, _, _ := SplitDevice(column)
	return knownColumn(base)
}

// columnKind says which values a cell may hold.
type columnKind uint8

const (
	kindCarried columnKind = iota // not ours: any number; text is unknown
	kindAmount                    // ours: never negative
	kindTime                      // ours: any finite number
)

func kindOf(column string) columnKind {
	switch {
	case column == ColTime:
		return kindTime
	case Known(column):
		return kindAmount
	}
	return kindCarried
}

package record

// The past of a run is thinned by time: of each process the first row of every
// slot stays. The ends of the slots are drawn from a grid of milliseconds: on each
// level every second one of the level below goes, which of the two a hash says. So
// a slot of one level is made of whole slots of the level below, and thinning
// twice, first to a lower and then to a higher level, is thinning once. And no
// program works at the pace of such slots, as one may at the pace of equal ones.
const (
	slotMicros = 1000 // of level 0
	// maxLevel has slots of 35 years.
	maxLevel = 40
)

// above is the slot of the level above that a slot lies in.
func above(level int, slot int64) int64 {
	up := slot >> 1
	if slot&1 == 0 && scatter(uint64(up)<<6|uint64(level))&1 == 1 {
		up-- // the end at the even place was left out, the odd one stays
	}
	return up
}

// parted is the lowest level on which two times share a slot: on the levels below
// it an end of a slot lies between them.
func parted(a, b int64) int {
	a, b = a/slotMicros, b/slotMicros
	level := 0
	for ; a != b && level < maxLevel; level++ {
		a, b = above(level, a), above(level, b)
	}
	return level
}

// scatter spreads the bits of a number (splitmix64).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

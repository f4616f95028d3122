package pool

// Amount is a number of buffers and their size: Bytes as the pool asked the
// device for them, PageBytes as the device charges them.
type Amount struct {
	Count     uint64
	Bytes     uint64
	PageBytes uint64
}

// Add returns the sum of both.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.Count + b.Count, a.Bytes + b.Bytes, a.PageBytes + b.PageBytes}
}

func (a Amount) sub(b Amount) Amount {
	return Amount{a.Count - b.Count, a.Bytes - b.Bytes, a.PageBytes - b.PageBytes}
}

func (a *Amount) enter(s *slot) {
	a.Count++
	a.Bytes += s.bytes
	a.PageBytes += s.pages
}

func (a *Amount) leave(s *slot) {
	a.Count--
	a.Bytes -= s.bytes
	a.PageBytes -= s.pages
}

// Stats is what a pool counts. The first group is the present state, the
// others are totals since New. Live, Pending and Idle together are all the
// buffers that the pool got from the device and did not give back.
type Stats struct {
	Policy  string
	Live    Amount // handed out and referenced
	Pending Amount // given up, but a command still uses it
	Idle    Amount // kept for reuse
	// RequestedBytes is what the program asked for in the live buffers.
	RequestedBytes uint64
	// Refs is the sum of the reference counts of the live buffers.
	Refs uint64

	Hits     uint64 // Gets served from an idle buffer
	Misses   uint64 // Gets that made a buffer
	Unpooled uint64 // Gets with Request.Unpooled, in neither of the above
	// Outcomes counts releases and settled buffers by Outcome. A pending
	// release is counted under Pending, and when it settles once more under
	// its final outcome.
	Outcomes [outcomes]uint64
	Evicted  Amount // idle buffers dropped by the policy: to fit, aged, at rest, swept
	Purged   Amount // idle buffers dropped by Purge or to avoid out of memory
	Allocs   uint64 // buffers made by the device for the pool
	Frees    uint64 // buffers given back to the device
	Hazards  uint64 // handed out while commands still used them
	// ReleaseErrors counts buffers that the device refused to take back.
	ReleaseErrors uint64

	// The high-water marks. The one of Reserved (all three states, in pages)
	// is exact; the others are exact as long as goroutines do not contend
	// for the pool, and beyond that are taken at each miss and each Stats.
	PeakLiveCount     uint64
	PeakLiveBytes     uint64
	PeakIdleBytes     uint64
	PeakPendingBytes  uint64
	PeakReservedBytes uint64
}

// ReuseRate is the share of pooled Gets that were hits; not ok before the
// first.
func (s Stats) ReuseRate() (rate float64, ok bool) { return share(s.Hits, s.Hits+s.Misses) }

// ReturnRate is the share of buffers that were kept when their last
// reference was given up; not ok before the first.
func (s Stats) ReturnRate() (rate float64, ok bool) {
	all := s.Outcomes[Returned] + s.Outcomes[CapFull] + s.Outcomes[Busy] + s.Outcomes[NotPooled]
	return share(s.Outcomes[Returned], all)
}

// Reserved is everything the pool has from the device.
func (s Stats) Reserved() Amount { return s.Live.Add(s.Pending).Add(s.Idle) }

func share(part, all uint64) (float64, bool) {
	if all == 0 {
		return 0, false
	}
	return float64(part) / float64(all), true
}

// ClassStats is one size class: what is in it now, and its totals.
type ClassStats struct {
	Class   Class
	MaxIdle int // -1 no limit
	Live    uint64
	Pending uint64
	Idle    uint64
	Hits    uint64
	Misses  uint64
	Kept    uint64 // returned and kept
	Dropped uint64 // given up and not kept
}

package capture

import (
	"math"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
)

const (
	// maxHandles bounds the handles that a ledger tells apart; a leak of more
	// is still counted, without sites.
	maxHandles = 1 << 18
	// maxStacks bounds the different call stacks.
	maxStacks = 1 << 16
	// maxFailures is how many of the last failed allocations are kept.
	maxFailures = 16
	// maxDevices bounds the devices with a sum of their own.
	maxDevices = 64
)

// key is one thing that a program holds.
type key struct {
	space space
	id    uint64
}

// item is what is known about it. The size of an imported item is 0.
type item struct {
	size   uint64
	ctx    uint64
	stack  uint32
	refs   int32 // of physical memory: handles and mappings
	device int16
	class  class
}

// region is a mapped range of addresses.
type region struct {
	size   uint64
	handle uint64
}

// maxTakers is for a ring that tells of more of them than an interposer does.
const maxTakers = 64

// removal is what the last free of a thread took away, for when it failed.
type removal struct {
	kind    kind
	key     key
	item    item
	held    bool
	regions map[uint64]region
}

// primary is a device's primary context.
type primary struct {
	ctx  uint64
	refs int
}

// ledger is what one program holds, from its events.
type ledger struct {
	items   map[key]item
	regions map[uint64]region
	primary map[int16]primary
	undo    map[uint32]removal

	stacks    map[stack]uint32
	stackAt   []stack // by number; 0 is unknown
	byStack   []share // by number: device memory but managed memory
	takers    []stack // of some calls that gave memory back
	bytes     [classCount]uint64
	count     [classCount]int64
	device    [maxDevices]uint64
	devices   int // highest device seen, plus one
	handles   int
	beyond    [classCount]int64 // handles over maxHandles
	seen      [classCount]bool
	events    uint64
	allocs    int64
	frees     int64
	failed    int64
	strange   int64 // frees of what was not known
	failures  []failure
	atRefusal atRefusal
	started   bool // the driver was called
	pools     pools
	// ended is what the last context that ended took with it.
	ended map[siteKey]record.Site
}

// atRefusal is what the program held when the driver refused memory, which costs a walk
// over all of it: of refusals within betweenRefusals the first has it.
type atRefusal struct {
	time int64 // of the failure
	held map[siteKey]record.Site
}

// betweenRefusals is in nanoseconds.
const betweenRefusals = int64(time.Second)

// codeNoMemory is CUDA_ERROR_OUT_OF_MEMORY and hipErrorOutOfMemory.
const codeNoMemory = 2

// failure is an allocation that the driver refused.
type failure struct {
	time   int64
	size   uint64
	live   uint64 // device bytes that the program held
	free   uint64 // device bytes that nobody held, plus 1; 0 is unknown
	class  class
	rc     int16
	device int16
	stack  uint32
}

func newLedger() *ledger {
	return &ledger{
		items: map[key]item{}, regions: map[uint64]region{}, primary: map[int16]primary{},
		undo: map[uint32]removal{}, stacks: map[stack]uint32{}, stackAt: make([]stack, 1),
	}
}

// apply takes in one event.
func (l *ledger) apply(e *event) {
	l.events++
	if e.kind == kindNone || e.kind >= kindCount {
		return // written by a later version
	}
	l.started = true
	switch {
	case e.flags&slotUndo != 0:
		l.takeBack(e)
		return
	case e.rc != 0:
		l.refused(e)
		return
	}
	switch e.kind {
	case kindPoolState:
		l.pools.state(e, l.bytes[classAsync])
	case kindRelease:
		l.release(e)
	case kindMap:
		l.mapRegion(e)
	case kindUnmap:
		l.unmap(e)
	case kindRetainHandle:
		l.reference(e.ptr, 1)
	case kindPrimary:
		p := l.primary[e.device]
		l.primary[e.device] = primary{e.ptr, p.refs + 1}
	case kindPrimaryRelease:
		l.releasePrimary(int16(e.ptr))
	case kindPrimaryReset:
		l.pools.dropDevice(int16(e.ptr))
		l.dropOwned(func(it *item) bool {
			ctx := l.primary[int16(e.ptr)].ctx
			return it.ctx == ctx && (ctx != 0 || it.device == int16(e.ptr)) // HIP has no contexts
		})
	case kindCtxDestroy:
		l.dropContext(e.ptr)
		l.drop(key{spaceContext, e.ptr})
	case kindPoolDestroy:
		delete(l.pools.of, e.ptr)
		l.plain(e)
	default:
		l.plain(e)
	}
}

// plain applies the kinds that make one item or take one away.
func (l *ledger) plain(e *event) {
	what := effects[e.kind]
	if what.space == 0 {
		return
	}
	k := key{what.space, e.ptr}
	if what.class != classNone {
		l.make(k, what.class, e)
		return
	}
	if e.ptr == 0 {
		return // freeing nothing is allowed
	}
	if e.frames[0] != 0 && memorySpace(k.space) && len(l.takers) < maxTakers {
		l.takers = append(l.takers, e.frames)
	}
	before, held := l.items[k]
	l.undo[e.tid] = removal{kind: e.kind, key: k, item: before, held: held}
	if memorySpace(k.space) {
		l.frees++
	}
	if held {
		l.drop(k)
		return
	}
	l.dropUnknown(k.space)
}

// dropUnknown counts the end of something that is not in the table.
func (l *ledger) dropUnknown(s space) {
	for _, w := range effects {
		if w.space == s && w.class.handle() && l.beyond[w.class] > 0 {
			l.beyond[w.class]--
			l.count[w.class]--
			return
		}
	}
	l.strange++
}

func memorySpace(s space) bool { return s >= spaceMemory && s <= spacePhysical }

// make adds an item. An address that is still held was freed without our
// seeing it: the old item ends.
func (l *ledger) make(k key, c class, e *event) {
	if e.flags&slotHostMem != 0 {
		c = classPinned
	}
	if memorySpace(k.space) {
		l.allocs++
	}
	if old, held := l.items[k]; held {
		if c == classImported && old.class == classImported {
			old.refs++
			l.items[k] = old
			return
		}
		l.drop(k)
	}
	l.seen[c] = true
	if c.handle() {
		if l.handles >= maxHandles {
			l.beyond[c]++
			l.count[c]++
			return
		}
		l.handles++
	}
	l.add(k, item{size: e.size, ctx: e.aux, stack: l.stackNumber(e.frames),
		refs: 1, device: e.device, class: c})
}

func (l *ledger) add(k key, it item) {
	l.items[k] = it
	l.bytes[it.class] += it.size
	if it.class == classAsync {
		l.pools.peak = max(l.pools.peak, l.bytes[classAsync])
	}
	l.count[it.class]++
	l.charge(it, 1)
	if it.class.onDevice() && it.device >= 0 && it.device < maxDevices {
		l.device[it.device] += it.size
		l.devices = max(l.devices, int(it.device)+1)
	}
}

func (l *ledger) drop(k key) {
	it, held := l.items[k]
	if !held {
		return
	}
	delete(l.items, k)
	l.bytes[it.class] -= it.size
	l.count[it.class]--
	l.charge(it, -1)
	if it.class.handle() {
		l.handles--
	}
	if it.class.onDevice() && it.device >= 0 && it.device < maxDevices {
		l.device[it.device] -= it.size
	}
}

// charge adds an item to what its call stack asked for, or takes it away. Managed memory
// counts without its bytes: where they lie, and so whether the driver charges them, changes.
func (l *ledger) charge(it item, by int64) {
	if !it.class.onDevice() {
		return
	}
	for len(l.byStack) <= int(it.stack) {
		l.byStack = append(l.byStack, share{})
	}
	s := &l.byStack[it.stack]
	s.count += by
	if it.class != classManaged {
		s.bytes += uint64(by) * it.size
	}
}

// reference changes the references to physical memory and reports whether it
// is known.
func (l *ledger) reference(handle uint64, by int32) bool {
	k := key{spacePhysical, handle}
	it, held := l.items[k]
	if !held {
		return false
	}
	it.refs += by
	l.items[k] = it
	if it.refs <= 0 {
		l.drop(k)
	}
	return true
}

func (l *ledger) release(e *event) {
	k := key{spacePhysical, e.ptr}
	before, held := l.items[k]
	l.undo[e.tid] = removal{kind: e.kind, key: k, item: before, held: held}
	l.frees++
	if !l.reference(e.ptr, -1) {
		l.strange++
	}
}

func (l *ledger) mapRegion(e *event) {
	if l.reference(e.aux, 1) && e.size > 0 {
		l.regions[e.ptr] = region{e.size, e.aux}
	}
}

// unmap ends all mappings in a range: one call may cover several.
func (l *ledger) unmap(e *event) {
	gone := map[uint64]region{}
	for at, left := e.ptr, e.size; left > 0; {
		r, ok := l.regions[at]
		if !ok || r.size > left {
			break
		}
		gone[at] = r
		delete(l.regions, at)
		at += r.size
		left -= r.size
	}
	last := removal{kind: e.kind, regions: gone}
	for _, r := range gone {
		if it, held := l.items[key{spacePhysical, r.handle}]; held && it.refs == 1 {
			last.key, last.item, last.held = key{spacePhysical, r.handle}, it, true
		}
		l.reference(r.handle, -1)
	}
	l.undo[e.tid] = last
}

// takeBack restores what the last free of this thread took away: the driver
// refused it.
func (l *ledger) takeBack(e *event) {
	last, ok := l.undo[e.tid]
	if !ok || last.kind != e.kind {
		return
	}
	delete(l.undo, e.tid)
	switch {
	case e.kind == kindUnmap:
		for at, r := range last.regions {
			if !l.reference(r.handle, 1) && last.held && last.key.id == r.handle {
				l.add(last.key, last.item)
			}
			l.regions[at] = r
		}
	case last.held:
		l.drop(last.key)
		l.add(last.key, last.item)
		if last.item.class.handle() {
			l.handles++
		}
		if memorySpace(last.key.space) {
			l.frees--
		}
	default:
		l.strange--
	}
}

func (l *ledger) releasePrimary(device int16) {
	p, ok := l.primary[device]
	if !ok {
		return
	}
	p.refs--
	l.primary[device] = p
	if p.refs <= 0 {
		l.pools.dropDevice(device)
		l.dropContext(p.ctx)
		delete(l.primary, device)
	}
}

// contexts is how many live.
func (l *ledger) contexts() int64 { return l.count[classContext] + int64(len(l.primary)) }

// dropContext ends all that belongs to a context: the driver frees it with the
// context. Physical memory belongs to none.
func (l *ledger) dropContext(ctx uint64) {
	if ctx != 0 {
		l.dropOwned(func(it *item) bool { return it.ctx == ctx })
	}
}

// dropOwned forgets what ends with a context, of what belongs to it. Physical memory
// outlives it.
func (l *ledger) dropOwned(belongs func(*item) bool) {
	ended := map[siteKey]record.Site{}
	for k, it := range l.items {
		if belongs(&it) && k.space != spacePhysical && k.space != spaceContext {
			addTo(ended, it)
			l.drop(k)
		}
	}
	if len(ended) > 0 {
		l.ended = ended
	}
}

func (l *ledger) refused(e *event) {
	what := effects[e.kind]
	if what.class == classNone || what.class.handle() {
		return
	}
	l.failed++
	if len(l.failures) == maxFailures {
		l.failures = append(l.failures[:0], l.failures[1:]...)
	}
	f := failure{time: e.time, size: e.size, live: l.deviceBytes(), class: what.class, rc: e.rc,
		device: e.device, stack: l.stackNumber(e.frames)}
	if what.class.onDevice() {
		f.free = e.ptr
	}
	l.failures = append(l.failures, f)
	if last := &l.atRefusal; e.rc == codeNoMemory &&
		(last.held == nil || e.time-last.time >= betweenRefusals) {
		*last = atRefusal{e.time, l.held()}
	}
}

// deviceBytes is the memory of devices that the program holds.
func (l *ledger) deviceBytes() uint64 {
	sum := uint64(0)
	for c := classDevice; c <= classArray; c++ {
		sum += l.bytes[c]
	}
	return sum
}

func (l *ledger) deviceCount() int64 {
	sum := int64(0)
	for c := classDevice; c <= classArray; c++ {
		sum += l.count[c]
	}
	return sum
}

func (l *ledger) stackNumber(s stack) uint32 {
	if s[0] == 0 {
		return 0
	}
	if n, ok := l.stacks[s]; ok {
		return n
	}
	if len(l.stackAt) >= maxStacks {
		return 0
	}
	n := uint32(len(l.stackAt))
	l.stackAt = append(l.stackAt, s)
	l.stacks[s] = n
	return n
}

// clamp makes a cell's value of what a broken ring may have made huge.
func clamp(v uint64) int64 {
	if v > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(v)
}

package record

import (
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Bounds of the events that are kept of a file, in bytes unless said.
const (
	maxEventBytes = 32 << 20 // of all events
	maxDetailSize = 64 << 10 // of the detail of one event
	maxDetails    = 8 << 20  // of all details, once the events are too many
	maxEventText  = 16 << 10 // of one text or name
	maxListed     = 10_000   // sites or holders of one event
	// edgeEvents, at each end, are left out last of all.
	edgeEvents = 4096
)

// eventKeeper keeps events in bounded memory. Details, texts and lists that are
// too long are cut as they come. When the events are too many for all that,
// there go, in this order, until they take half of the room:
//
//   - lists of sites and of holders that a later one of the same process
//     replaces, and all but the newest details;
//   - every second one of the marks of which a program may set one a step; the
//     steps that stay say which they are, so that none is miscounted;
//   - every second one of all but the first and the last events.
//
// From then on as many marks are left out as they come, so that what stays
// covers the whole time evenly.
type eventKeeper struct {
	events []Event
	size   int64
	words  map[string]string // kinds and names that repeat
	steps  map[int]int64     // number of the last step, by pid
	stride int64             // one of so many marks is kept
	marks  int64             // that came since the last one kept

	read, thinned, details, lists, clipped int64
}

func newEventKeeper() *eventKeeper {
	return &eventKeeper{words: map[string]string{}, steps: map[int]int64{}, stride: 1}
}

// add keeps an event, as far as there is room.
func (k *eventKeeper) add(e Event) {
	k.read++
	k.cut(&e)
	if e.Kind == KindStep {
		k.count(&e, k.steps, k.stride > 1)
	}
	if isMark(e.Kind) {
		if k.marks++; k.marks < k.stride {
			k.thinned++
			return
		}
		k.marks = 0
	}
	k.events = append(k.events, e)
	if k.size += sizeOfEvent(&e); k.size > maxEventBytes {
		k.shrink()
	}
}

// isMark reports whether a program may set any number of this kind. What a
// tracer writes now and then, and phases, which a verdict rests on, are none.
func isMark(kind string) bool {
	switch kind {
	case KindPhase, KindReceipt, KindSites, KindHolders, KindDriverSites, KindHostSites, KindBlockSites,
		KindFirstTouch, KindProcess, KindLeft, KindChild,
		KindOOM, KindOOMOthers, KindDied, KindWindow,
		KindComposition, KindClones, KindGenerations:
		return false
	}
	return true
}

// maxStepPIDs bounds the processes whose steps are counted.
const maxStepPIDs = 1 << 12

// count counts a step mark, and has it say its number if asked to.
func (k *eventKeeper) count(e *Event, steps map[int]int64, say bool) {
	n, known := steps[e.PID]
	if !known && len(steps) >= maxStepPIDs {
		return
	}
	if n++; e.Step > 0 {
		n = e.Step
	}
	if steps[e.PID] = n; say {
		e.Step = n
	}
}

// cut shortens what is too long in one event, and has equal words share memory.
func (k *eventKeeper) cut(e *Event) {
	e.Kind, e.Name, e.At = k.word(e.Kind), k.word(e.Name), k.word(e.At)
	e.Text = k.text(e.Text)
	if len(e.Detail) > maxDetailSize {
		e.Detail = nil
		k.details++
	}
	if len(e.Sites) > maxListed {
		e.Sites = largest(e.Sites, siteBytes, maxListed)
		k.clipped++
	}
	if len(e.Holders) > maxListed {
		e.Holders = largest(e.Holders, holderBytes, maxListed)
		k.clipped++
	}
	if t := e.FirstTouch; t != nil && max(len(t.Owners), len(t.Places)) > maxListed {
		t.Owners = append([]TouchOwner(nil), t.Owners[:min(len(t.Owners), maxListed)]...)
		t.Places = append([]TouchPlace(nil), t.Places[:min(len(t.Places), maxListed)]...)
		k.clipped++
	}
}

// largest keeps the n largest of list.
func largest[T any](list []T, bytes func(T) int64, n int) []T {
	for len(list) > n {
		list = largestHalf(list, bytes)
	}
	return append([]T(nil), list...)
}

// maxWords bounds the words that share memory.
const maxWords = 1 << 12

func (k *eventKeeper) word(s string) string {
	if same, ok := k.words[s]; ok {
		return same
	}
	s = k.text(s)
	if len(k.words) < maxWords && len(s) <= 128 {
		k.words[s] = s
	}
	return s
}

func (k *eventKeeper) text(s string) string {
	if len(s) <= maxEventText {
		return s
	}
	k.clipped++
	s = s[:maxEventText]
	for len(s) > 0 && !utf8.ValidString(s[max(0, len(s)-utf8.UTFMax):]) && !utf8.RuneStart(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return strings.Clone(s) + "…"
}

// sizeOfEvent is about what an event takes in memory.
func sizeOfEvent(e *Event) int64 {
	n := int64(unsafe.Sizeof(*e)) + int64(len(e.Name)+len(e.At)+len(e.Text)+len(e.Detail))
	if e.Receipt != nil {
		n += 128
	}
	for i := range e.Sites {
		n += 48 + int64(len(e.Sites[i].Site)+len(e.Sites[i].Caller))
	}
	for i := range e.Holders {
		n += 48 + int64(len(e.Holders[i].Path))
	}
	if e.FirstTouch != nil {
		n += 128 + 64*int64(len(e.FirstTouch.Owners)+len(e.FirstTouch.Places))
		for i := range e.FirstTouch.Places {
			n += int64(len(e.FirstTouch.Places[i].Site))
		}
	}
	return n
}

// shrink makes room.
func (k *eventKeeper) shrink() {
	k.outdated()
	for k.weigh() > maxEventBytes/2 && k.halve(func(_ int, e *Event) bool { return isMark(e.Kind) }) {
		k.stride *= 2
	}
	last := len(k.events) - edgeEvents
	for k.size > maxEventBytes/2 && k.halve(func(i int, _ *Event) bool {
		return i >= edgeEvents && i < last
	}) {
		last = len(k.events) - edgeEvents
		k.weigh()
	}
	// What is left may still be too much: few events with much in each.
	for edge := len(k.events) / 2; k.size > maxEventBytes/2 && edge > 0; edge /= 2 {
		k.halve(func(i int, _ *Event) bool { return true })
		k.weigh()
	}
}

func (k *eventKeeper) weigh() int64 {
	k.size = 0
	for i := range k.events {
		k.size += sizeOfEvent(&k.events[i])
	}
	return k.size
}

// outdated takes out the lists that later ones replace, and old details.
func (k *eventKeeper) outdated() {
	type list struct {
		kind string
		pid  int
	}
	seen, room := map[list]bool{}, maxDetails
	for i := len(k.events) - 1; i >= 0; i-- {
		e := &k.events[i]
		if room -= len(e.Detail); room < 0 && e.Detail != nil {
			e.Detail = nil
			k.details++
		}
		if len(e.Sites)+len(e.Holders) == 0 {
			continue
		}
		if at := (list{e.Kind, e.PID}); seen[at] {
			e.Sites, e.Holders = nil, nil
			k.lists++
		} else {
			seen[at] = true
		}
	}
}

// halve leaves out every second one of the events that may go, and reports
// whether there were any.
func (k *eventKeeper) halve(mayGo func(i int, e *Event) bool) bool {
	steps, odd, kept := map[int]int64{}, false, k.events[:0]
	before := len(k.events)
	for i := range k.events {
		e := k.events[i]
		if e.Kind == KindStep {
			k.count(&e, steps, true)
		}
		if mayGo(i, &e) {
			if odd = !odd; !odd {
				continue
			}
		}
		kept = append(kept, e)
	}
	clear(k.events[len(kept):])
	k.events = kept
	k.thinned += int64(before - len(kept))
	return len(kept) < before
}

// left says what was left out.
func (k *eventKeeper) left(file string) (list []Warning) {
	say := func(n int64, format string, args ...any) {
		if n > 0 {
			list = append(list, Warning{File: file, Text: fmt.Sprintf(format, args...)})
		}
	}
	say(k.details, "details of %s events were left out: over %d KiB each, or old and many",
		grouped(k.details), maxDetailSize>>10)
	say(k.lists, "%s lists of sites or holders that later ones replace were left out", grouped(k.lists))
	say(k.clipped, "%s texts or lists were cut: over %d KiB or %s entries", grouped(k.clipped),
		maxEventText>>10, grouped(maxListed))
	say(k.thinned, "%s of %s events were left out, evenly: all take more than %d MiB",
		grouped(k.thinned), grouped(k.read), maxEventBytes>>20)
	return list
}

package tracer

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/gpumem/gpumem/internal/secret"
)

// bucket lets through so many a second on average, and so many at once.
type bucket struct {
	perSecond, burst, level float64
	last                    int64
}

func newBucket(perSecond, burst float64) bucket {
	return bucket{perSecond: perSecond, burst: burst, level: burst}
}

// take reports whether one more may pass at time now (ns).
func (b *bucket) take(now int64) bool {
	if !b.has(now, 1) {
		return false
	}
	b.level--
	return true
}

// has reports whether n may pass at time now (ns).
func (b *bucket) has(now int64, n float64) bool {
	if now > b.last {
		b.level = min(b.burst, b.level+float64(now-b.last)/1e9*b.perSecond)
		b.last = now
	}
	return b.level >= n
}

const (
	marksPerSecond = 2000
	maxMarks       = 1_000_000
	// markBytesPerSecond and maxMarkBytes bound what marks add to events.jsonl. The
	// report reads it whole, so the bound of a run is one of memory as well.
	markBytesPerSecond = 2 << 20
	maxMarkBytes       = 16 << 20
	// markRefill is how long a run must go on to have its budgets anew: a run of a month
	// tells of its last day as well as of its first. The file is kept within its bound by
	// the writer, which thins the past.
	markRefill = 6 * time.Hour
	// maxName, maxDetail and maxReceipt bound the texts of one event, in bytes.
	maxName    = 1 << 10
	maxDetail  = 4 << 10
	maxReceipt = 64 << 10
	// maxLarge bounds the detail of an out-of-memory and of a part of a profiled
	// window, in bytes. Readers of events.jsonl leave out what is longer.
	maxLarge = 60 << 10
	// eventFrame is about what an event has beside its texts, in bytes.
	eventFrame = 80
)

// markBudget bounds the events of agents in events.jsonl, by number and by bytes.
type markBudget struct {
	rate, byteRate bucket
	written        int64
	bytes          int64
	surplus        int64 // that did not pass
	begun          int64 // time of the first, in ns
}

func newMarkBudget() markBudget {
	return markBudget{
		rate:     newBucket(marksPerSecond, 2*marksPerSecond),
		byteRate: newBucket(markBytesPerSecond, 2*markBytesPerSecond),
	}
}

// take reports whether an event of that size may pass at time now (ns).
func (b *markBudget) take(now int64, size int) bool {
	if b.begun == 0 {
		b.begun = now
	}
	anew := 1 + (now-b.begun)/int64(markRefill)
	if b.written >= maxMarks*anew || b.bytes+int64(size) > maxMarkBytes*anew ||
		!b.byteRate.has(now, float64(size)) || !b.rate.take(now) {
		b.surplus++
		return false
	}
	b.byteRate.level -= float64(size)
	b.written++
	b.bytes += int64(size)
	return true
}

// longestSecret is how far behind the end of a clipped text a secret is looked for.
const longestSecret = 4096

// clipTo bounds a text in bytes, at the end of a character. Of a text that is cut
// the secrets go first: half of one would not be recognised later.
func clipTo(text string, room int) string {
	if len(text) <= room {
		return text
	}
	text = secret.Text(text[:min(len(text), room+longestSecret)])
	if room -= len("…"); len(text) <= room {
		return text + "…"
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:room] + "…"
}

// clipDetail takes the place of a detail that is over room: half an object is
// none, so it says only how long it was.
func clipDetail(detail json.RawMessage, room int) json.RawMessage {
	if len(detail) <= room {
		return detail
	}
	return fmt.Appendf(nil, `{"left_out_bytes":%d}`, len(detail))
}

// stepWorthEvent thins steps: of the first thousand each, then every tenth,
// from ten thousand on every hundredth, and so on.
func stepWorthEvent(n int64) bool {
	stride := int64(1)
	for limit := int64(1000); n > limit; limit *= 10 {
		stride *= 10
		if limit > 1<<58 {
			break
		}
	}
	return n%stride == 0
}

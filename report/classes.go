package report

import (
	"encoding/json"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// poolClass is one size class of a program's pool, as it stands in the Detail
// of an event: {"classes":[{"class":"2048 x 2 B","bytes":4096,…}]}. Bytes is
// the length of one buffer; the others are counts. What a pool does not count
// is nil.
type poolClass struct {
	Class   string `json:"class"`
	Bytes   *int64 `json:"bytes"`
	Live    *int64 `json:"live"`
	Idle    *int64 `json:"idle"`
	MaxIdle *int64 `json:"max_idle"` // −1 is no limit
	Hits    *int64 `json:"hits"`
	Misses  *int64 `json:"misses"`
}

// maxDetail bounds an event's Detail that is read for classes.
const maxDetail = 1 << 20

// poolClasses are the classes as the judged process last told them.
func poolClasses(run *record.Run, v *verdict.Verdict) []poolClass {
	for i := len(run.Events) - 1; i >= 0; i-- {
		e := &run.Events[i]
		if len(e.Detail) == 0 || len(e.Detail) > maxDetail || v.PID != 0 && e.PID != 0 && e.PID != v.PID {
			continue
		}
		var d struct {
			Classes []poolClass `json:"classes"`
		}
		if json.Unmarshal(e.Detail, &d) == nil && len(d.Classes) > 0 {
			return d.Classes
		}
	}
	return nil
}

// classesSection tells a pool that keeps too much of one size from one that
// never meets a size twice.
func classesSection(run *record.Run, v *verdict.Verdict) section {
	s := section{id: "classes", title: "Pool classes"}
	classes := poolClasses(run, v)
	if len(classes) == 0 {
		return s
	}
	t := &table{head: []column{{title: "size class"}, {title: "live", right: true},
		{title: "idle", right: true},
		{title: "idle limit", right: true}, {title: "idle bytes", right: true}, {title: "hits", right: true},
		{title: "misses", right: true}}}
	for _, c := range classes[:min(len(classes), maxRows)] {
		t.rows = append(t.rows, []string{clean(c.Class, maxName), plainCount(c.Live), plainCount(c.Idle),
			c.limit(), c.idleBytes(),
			plainCount(c.Hits), plainCount(c.Misses)})
	}
	t.caption = captionOf("Buffers of the program's pool by size class, as it last told", len(classes))
	s.blocks = []block{{table: t}}
	return s
}

func (c *poolClass) limit() string {
	if c.MaxIdle != nil && *c.MaxIdle < 0 {
		return "none"
	}
	return plainCount(c.MaxIdle)
}

func (c *poolClass) idleBytes() string {
	if c.Idle == nil || c.Bytes == nil {
		return units.Unknown
	}
	return units.Bytes(float64(*c.Idle) * float64(*c.Bytes))
}

func plainCount(n *int64) string {
	if n == nil {
		return units.Unknown
	}
	return units.Count(*n)
}

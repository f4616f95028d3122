package importer

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/record"
)

// Bounds of the statement rank: source lines that are told apart, and lines
// that are reported.
const (
	maxStatements    = 1 << 16
	rankedStatements = 50
	maxPlace         = 512 // bytes kept of a place or a tag
)

// statementRank sums the change of resident memory by source line: what a
// statement's line shows beyond the line before is charged to it.
type statementRank struct {
	byAt   map[string]*statement
	last   float64
	begun  bool
	missed int64 // lines of source beyond maxStatements
}

type statement struct {
	at, tag string
	bytes   float64
	count   int64
}

// StatementDetail is the Detail of the KindStatement events that rank a log's
// source lines by the resident memory gained in them.
type StatementDetail struct {
	RSSBytes int64 `json:"rss_delta_bytes"` // summed over the log
	Count    int64 `json:"count"`           // times the statement ran
}

func newStatementRank() *statementRank { return &statementRank{byAt: map[string]*statement{}} }

func (r *statementRank) add(at, tag string, rss float64) {
	s := r.byAt[at]
	if s == nil {
		if len(r.byAt) >= maxStatements {
			r.missed++
			r.last, r.begun = rss, true
			return
		}
		s = &statement{at: at, tag: tag}
		r.byAt[at] = s
	}
	s.count++
	if r.begun {
		s.bytes += rss - r.last
	}
	r.last, r.begun = rss, true
}

// events are the first lines of the rank, greatest gain first.
func (r *statementRank) events() []record.Event {
	all := make([]*statement, 0, len(r.byAt))
	for _, s := range r.byAt {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *statement) int {
		switch {
		case a.bytes > b.bytes:
			return -1
		case a.bytes < b.bytes:
			return 1
		}
		return strings.Compare(a.at, b.at)
	})
	var out []record.Event
	for _, s := range all[:min(len(all), rankedStatements)] {
		detail, err := json.Marshal(StatementDetail{int64(s.bytes), s.count})
		if err != nil {
			continue // two integers always marshal
		}
		out = append(out, record.Event{Kind: record.KindStatement, Name: s.tag, At: s.at, Detail: detail})
	}
	return out
}

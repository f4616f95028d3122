package workloads

import (
	"cmp"
	"encoding/json"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const (
	toldBytes      = 4000 // a mark's detail has 4 KiB at most
	toldStatements = 50   // as many as the rank of a saved trace has
)

// tellClones hands the clone audit to the tracer, as many lines as one mark holds.
func (p *program) tellClones() {
	var list []record.Clone
	for _, c := range p.rt.CloneAudit() {
		list = append(list, record.Clone{Site: shortSite(c.Site), References: c.Increments})
	}
	for len(list) > 0 {
		text, err := json.Marshal(record.Clones{Clones: list})
		if err == nil && len(text) <= toldBytes {
			p.client.MarkDetail(record.KindClones, "", "", text)
			return
		}
		list = list[:len(list)/2]
	}
}

// shortSite leaves of a site's file the folder and the name, and of its function what
// follows the package.
func shortSite(site string) string {
	at, function, _ := strings.Cut(site, " ")
	at = path.Join(path.Base(path.Dir(filepath.ToSlash(at))), path.Base(filepath.ToSlash(at)))
	_, function, _ = strings.Cut(path.Base(function), ".")
	return at + " " + function
}

// statements rank what resident memory gained from one traced statement to the next,
// by the line of the later one.
type statements struct {
	last int64 // resident bytes after the statement before
	any  bool
	at   map[string]*statementSum
}

type statementSum struct {
	At    string `json:"-"`
	Tag   string `json:"-"`
	Bytes int64  `json:"rss_delta_bytes"`
	Count int64  `json:"count"`
}

// add takes a statement; resident memory that is not known is -1.
func (s *statements) add(tag, at string, resident int64) {
	if resident < 0 {
		return
	}
	if s.any {
		if s.at == nil {
			s.at = map[string]*statementSum{}
		}
		sum := s.at[at]
		if sum == nil {
			sum = &statementSum{At: at, Tag: tag}
			s.at[at] = sum
		}
		sum.Bytes += resident - s.last
		sum.Count++
	}
	s.last, s.any = resident, true
}

// rank is the statements, the greatest gain first.
func (s *statements) rank() (list []*statementSum) {
	for _, sum := range s.at {
		list = append(list, sum)
	}
	slices.SortFunc(list, func(a, b *statementSum) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.At, b.At))
	})
	return list[:min(len(list), toldStatements)]
}

// tellStatements hands the rank to the tracer.
func tellStatements(client *agent.Client, ranked []*statementSum) {
	for _, s := range ranked {
		text, err := json.Marshal(s)
		if err == nil {
			client.MarkDetail(record.KindStatement, s.Tag, s.At, text)
		}
	}
}

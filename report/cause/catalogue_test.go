package cause

import (
	"slices"
	"testing"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

func TestEveryPrecedenceIsOverAnotherRule(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, r := range Catalogue() {
		if slices.Contains(ids, r.ID) {
			t.Errorf("%s stands there twice", r.ID)
		}
		ids = append(ids, r.ID)
	}
	for _, r := range Catalogue() {
		for _, over := range r.Before {
			if !slices.Contains(ids, over) || over == r.ID {
				t.Errorf("%s takes precedence over %s, which is no other rule", r.ID, over)
			}
		}
	}
}

func TestNoTwoRulesTakePrecedenceOverEachOther(t *testing.T) {
	t.Parallel()
	before := map[string][]string{}
	for _, r := range Catalogue() {
		before[r.ID] = r.Before
	}
	var reaches func(from, to string, deep int) bool
	reaches = func(from, to string, deep int) bool {
		return deep < len(before) && slices.ContainsFunc(before[from], func(next string) bool {
			return next == to || reaches(next, to, deep+1)
		})
	}
	for id := range before {
		if reaches(id, id, 0) {
			t.Errorf("%s takes precedence over itself, by way of others", id)
		}
	}
}

// Else it would matter which of the rules is asked first.
func TestARuleTakesPrecedenceOverAllThatItsLessersDo(t *testing.T) {
	t.Parallel()
	before := map[string][]string{}
	for _, r := range Catalogue() {
		before[r.ID] = r.Before
	}
	for id, lesser := range before {
		for _, l := range lesser {
			for _, least := range before[l] {
				if !slices.Contains(lesser, least) {
					t.Errorf("%s stands before %s, which stands before %s; it must, too", id, l, least)
				}
			}
		}
	}
}

// A backlog holds what its commands read: references that grow meanwhile are no
// clone's.
func TestARuleThatAnotherTakesPrecedenceOverNamesNothing(t *testing.T) {
	t.Parallel()
	grows := trend.Growth{Known: true, Shape: trend.Growing, Rate: 1, Span: 100}
	c := &Case{Class: account.None, Confidence: 1}
	c.Refs.Growth, c.Count.Known = grows, true
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Clone}) {
		t.Errorf("references grow alone: %v", got)
	}
	c.InFlight.Growth = grows
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Backlog}) {
		t.Errorf("references grow with the work in flight: %v", got)
	}
}

func TestTheDriverIsNamedOnlyWhereNothingElseIs(t *testing.T) {
	t.Parallel()
	c := &Case{Class: account.DriverGrowth, Confidence: 1, ByTrend: true, What: "host memory"}
	c.Grows = &c.Host
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Driver}) {
		t.Errorf("alone: %v", got)
	}
	c.Meta = record.Meta{Env: map[string]string{"MTL_DEBUG_LAYER": "1"}}
	if got := idsOf(Of(c)); !slices.Equal(got, []string{Tooling}) {
		t.Errorf("beside a debug layer: %v", got)
	}
}

func idsOf(causes []Cause) []string {
	var out []string
	for _, c := range causes {
		out = append(out, c.ID)
	}
	return out
}

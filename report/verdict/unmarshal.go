package verdict

import (
	"cmp"
	"encoding/json"
	"strings"
)

// sentence joins what a summary is made of.
func sentence(lead, claim string) string { return lead + ": " + claim }

// UnmarshalJSON reads verdict.json. The claim is not in it and comes out of the
// answer.
func (v *Verdict) UnmarshalJSON(text []byte) error {
	type plain Verdict
	if err := json.Unmarshal(text, (*plain)(v)); err != nil {
		return err
	}
	v.Answer = cmp.Or(v.Answer, v.Summary) // schema 1 has none
	v.Claim = claimOf(v.Verdict, v.Answer)
	return nil
}

// UnmarshalJSON reads a difference as it was written. The claim is not in it and
// comes out of the summary.
func (d *Difference) UnmarshalJSON(text []byte) error {
	type plain Difference
	if err := json.Unmarshal(text, (*plain)(d)); err != nil {
		return err
	}
	d.Claim = claimOf(d.Verdict, d.Summary)
	return nil
}

// claimOf is the summary without the class and tier that it may begin with:
// "app-leak (confirmed, 98 %): memory …" or "app-leak: memory …".
func claimOf(class Class, summary string) string {
	rest, ok := strings.CutPrefix(summary, string(class))
	if !ok || class == "" {
		return summary
	}
	if strings.HasPrefix(rest, " (") {
		if _, after, closed := strings.Cut(rest, ")"); closed {
			rest = after
		}
	}
	if claim, colon := strings.CutPrefix(rest, ": "); colon {
		return claim
	}
	return summary
}

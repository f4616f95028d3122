package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/verdict"
)

func TestACauseShowsItsShareAndItsChange(t *testing.T) {
	share, grew := .55, int64(100<<20)
	v := &verdict.Verdict{Verdict: verdict.AppLeak,
		Accounts: []verdict.AccountRow{{Account: verdict.Live, Bytes: &grew}},
		Causes: []cause.Cause{{ID: "retained-clone", Share: &share,
			Change: []string{"- kept.append(x)", "+ kept.append(x.item())"}}}}
	s := causesSection(v)
	d := &document{class: verdict.AppLeak, sections: []section{s}}
	var page bytes.Buffer
	if err := writeHTML(&page, d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.blocks[0].head, "55 % of the growth; without it, it would have grown by 45.0 MiB") {
		t.Errorf("head %q", s.blocks[0].head)
	}
	if len(s.blocks) != 2 || s.blocks[1].code != "- kept.append(x)\n+ kept.append(x.item())" {
		t.Errorf("blocks %+v", s.blocks)
	}
	if !strings.Contains(page.String(), "- kept.append(x)\n") {
		t.Error("the page lacks the change")
	}
	var text bytes.Buffer
	if err := writeText(&text, d, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "\n  - kept.append(x)\n  + kept.append(x.item())\n") {
		t.Errorf("text:\n%s", text.String())
	}
}

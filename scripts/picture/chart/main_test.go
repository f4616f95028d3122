package main

import (
	"strings"
	"testing"
)

const samples = "t_ms,pid,live,idle,footprint\n0,7,1048576,0,3145728\n5,8,9,9,9\n10,7,2097152,1048576,3145728\n" +
	"20,7,,0,3145728\n30,7,3145728,1048576,4194304\n40,7,31"

func TestAreasAreStackedAndLinesAreNot(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	args := []string{"a <title>", "t_ms", "live:live", "idle:idle", "--", "footprint:host"}
	if err := run(args, strings.NewReader(samples), &out); err != nil {
		t.Fatal(err)
	}
	svg := out.String()
	for _, want := range []string{"a &lt;title&gt;", `class="area c0"`, `class="area c1"`, `class="line c2"`, ">4 MiB<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	// Both end at 4 MiB: the areas together, and the line.
	_, area, _ := strings.Cut(svg, `class="area c1" d="`)
	_, line, _ := strings.Cut(svg, `class="line c2" d="`)
	last := line[strings.LastIndex(line[:strings.Index(line, `"`)], "L"):strings.Index(line, `"`)]
	if area, _, _ = strings.Cut(area, `"`); !strings.Contains(area, last) {
		t.Errorf("the areas end at %s, the line at %s", area, last)
	}
}

func TestAColumnThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	err := run([]string{"x", "t_ms", "none:none"}, strings.NewReader(samples), &out)
	if err == nil || !strings.Contains(err.Error(), "none") || out.Len() > 0 {
		t.Errorf("error %v, %d bytes written", err, out.Len())
	}
}

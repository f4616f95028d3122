package workloads

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// traced runs the small twin under TensorLogic's policy with every format on.
func traced(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	e := softEnv(t, &out, map[string]string{"scale": "8"})
	e.Policy = "tensorlogic"
	e.LookupEnv = func(name string) (string, bool) { return "1", strings.HasPrefix(name, "TL_") }
	if err := run(t, "modelload", e); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func TestTheLinesOfTheInvestigationSayWhatReallyBecameOfEachBuffer(t *testing.T) {
	t.Parallel()
	out := traced(t)
	for line, want := range map[string]int{
		"[GPU_MEMORY] Before allocation: ":                 201,
		" - returned to pool, size_class=":                 122,
		" - not returned to pool (cap full)":               79,
		" - not returned to pool (shared)":                 1, // the tensor that was read
		"free_tensor outcome=pooled":                       122,
		"free_tensor outcome=freed":                        79,
		"[TL_MEM] tensor_acquire ":                         1,
		"alloc_loc=modelload.go:":                          201,
		"alloc_loc=unknown":                                0,
		"[GPU_MEMORY] Purged 122 buffers (23.28 MB":        1, // lengths, not pages
		"WARNING: GPU memory leak detected!":               1,
		"clone audit: 1 references added at modelload.go:": 1,
	} {
		if got := strings.Count(out, line); got != want {
			t.Errorf("%q occurs %d times, want %d", line, got, want)
		}
	}
}

// TestThePoolsBytesAreLengthsAndNotPages holds the log to the unit of the
// original: 201 buffers of the five classes, whatever the device's page.
func TestThePoolsBytesAreLengthsAndNotPages(t *testing.T) {
	t.Parallel()
	lines := regexp.MustCompile(`alloc_buffer size=\d+ total_buffers=(\d+) total_bytes=(\d+)`).FindAllStringSubmatch(traced(t), -1)
	const bytes = 66*524288 + 45*2048 + 44*(131072+16384) + 2*2097152
	if last := lines[len(lines)-1]; last[1] != "201" || last[2] != "45377536" || bytes != 45377536 {
		t.Errorf("after the last allocation %q, want 201 buffers of %d B", last[0], bytes)
	}
}

package workloads

import (
	"bytes"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/pool"
)

// traced runs the small twin under TensorLogic's policy with every format on.
func traced(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	e := softEnv(t, &out, map[string]string{"scale": "8"})
	e.Policy = "tensorlogic"
	e.LookupEnv = func(name string) (string, bool) {
		return "1", strings.HasPrefix(name, "TL_") && name != "TL_BUFFER_MAX_MB" && name != "TL_COMPUTE_PER_BUFFER"
	}
	if err := run(t, "modelload", e); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func TestTheLinesOfTheInvestigationSayWhatReallyBecameOfEachBuffer(t *testing.T) {
	t.Parallel()
	out := traced(t)
	for line, want := range map[string]int{
		"[GPU_MEMORY] Before allocation: ":              201,
		" - returned to pool, size_class=":              122,
		" - not returned to pool (cap full)":            79,
		" - not returned to pool (shared)":              1, // the tensor that was read
		"free_tensor outcome=pooled":                    122,
		"free_tensor outcome=freed":                     79,
		"[TL_MEM] tensor_acquire ":                      1,
		"[TL_MEM] tensor_release ":                      202, // one of them of the shared one
		"[TL_MEM] alloc_non_pool ":                      201,
		"[BufferPool::allocate] ✗ new allocation, ":     201,
		"[BufferPool::try_return_buffer] ✓ returned ":   122,
		"[BufferPool::try_return_buffer] ✗ pool full, ": 79,
		"dtype=F16":                                       402,
		"alloc_loc=modelload.go:":                         201,
		"alloc_loc=unknown":                               0,
		"[GPU_MEMORY] Purged 122 buffers (23.28 MB":       1, // lengths, not pages
		"WARNING: GPU memory leak detected!":              1,
		"clone audit: 1 reference added at modelload.go:": 1,
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

// TestTheLinesCountElementsAndClassesHoldThem holds the two lines of a buffer to the
// units of the original: elements for lengths and classes, bytes for the buffer.
func TestTheLinesCountElementsAndClassesHoldThem(t *testing.T) {
	t.Parallel()
	out := traced(t)
	got := regexp.MustCompile(` - size_class=(\d+), bytes=(\d+)`).FindAllStringSubmatch(out, -1)
	if len(got) != 201 {
		t.Fatalf("%d allocations", len(got))
	}
	for _, m := range got {
		class, _ := strconv.Atoi(m[1])
		if size, _ := strconv.Atoi(m[2]); size != 2*class {
			t.Errorf("a class of %s f16 has buffers of %s B", m[1], m[2])
		}
	}
	lengths := map[string]bool{}
	for _, m := range regexp.MustCompile(`buffer_length=(\d+)`).FindAllStringSubmatch(out, -1) {
		lengths[m[1]] = true
	}
	freed := map[string]bool{}
	for _, m := range regexp.MustCompile(`free_tensor .* elems=(\d+) `).FindAllStringSubmatch(out, -1) {
		freed[m[1]] = true
	}
	if !maps.Equal(lengths, freed) || len(lengths) < 5 {
		t.Errorf("buffer_length has %v, the tensors' elements are %v", lengths, freed)
	}
}

// TestTheRuntimesOwnAnalyserReadsOurLog follows each address as the TL project's
// script for these logs does: by the words register_, acquire, release, and by the
// patterns ptr=0x… and refcount=N. It complains of an address that it never saw
// registered; an address whose count reached 0 is freed.
func TestTheRuntimesOwnAnalyserReadsOurLog(t *testing.T) {
	t.Parallel()
	ptr, count := regexp.MustCompile(`ptr=(0x[0-9a-fA-F]+)`), regexp.MustCompile(`refcount=(\d+)`)
	refs, freed := map[string]int{}, 0
	for line := range strings.Lines(traced(t)) {
		at := ptr.FindStringSubmatch(line)
		if !strings.HasPrefix(line, "[TL_MEM]") || at == nil {
			continue
		}
		_, known := refs[at[1]]
		n := 1
		if rc := count.FindStringSubmatch(line); rc != nil {
			n, _ = strconv.Atoi(rc[1])
		}
		switch {
		case strings.Contains(line, "register_"):
			refs[at[1]] = n
		case !known && (strings.Contains(line, "acquire") || strings.Contains(line, "release")):
			t.Errorf("of an address that was never registered: %s", line)
		case strings.Contains(line, "acquire"):
			refs[at[1]] = n
		case strings.Contains(line, "release"):
			if refs[at[1]] = n; n == 0 {
				freed++
				delete(refs, at[1])
			}
		}
	}
	if freed != 201 || len(refs) != 0 {
		t.Errorf("%d tensors were freed, %d are left", freed, len(refs))
	}
}

func TestAKeptTensorLeavesItsScopeInTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := softEnv(t, &out, map[string]string{"scale": "8"})
	e.Fault = "clone-retained"
	e.LookupEnv = func(name string) (string, bool) { return "1", name == "TL_MEM_LOG" }
	if err := run(t, "modelload", e); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "[TL_MEM] tensor_acquire ") +
		strings.Count(out.String(), "[TL_MEM] register_tensor_acquire "); got < 201 {
		t.Errorf("%d references were added", got)
	}
}

func TestThePoolObeysTensorLogicsVariables(t *testing.T) {
	t.Parallel()
	env := func(name, value string) (string, error) {
		var out bytes.Buffer
		e := softEnv(t, &out, map[string]string{"scale": "8"})
		e.Policy = "tensorlogic"
		e.LookupEnv = func(asked string) (string, bool) { return value, asked == name }
		err := run(t, "modelload", e)
		return out.String(), err
	}
	kept := regexp.MustCompile(`(\d+) B kept by the pool`)
	out, err := env("TL_BUFFER_MAX_MB", "4")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := strconv.Atoi(kept.FindStringSubmatch(out)[1]); b == 0 || b > 4<<20 {
		t.Errorf("with TL_BUFFER_MAX_MB=4 the pool keeps %d B", b)
	}
	for _, name := range []string{"TL_BUFFER_MAX_MB", "TL_COMPUTE_PER_BUFFER"} {
		if _, err := env(name, "many"); err == nil || !strings.Contains(err.Error(), name+"=many") {
			t.Errorf("%s=many: %v", name, err)
		}
	}
}

func TestSoManyCommandsGoIntoABufferAsTheVariableSays(t *testing.T) {
	t.Parallel()
	var p program
	p.LookupEnv = func(name string) (string, bool) { return "50", name == "TL_COMPUTE_PER_BUFFER" }
	var policy pool.Policy
	if limit, err := p.tuned(&policy); err != nil || limit != 50 || policy.MaxIdleBytes != 0 {
		t.Errorf("limit %d, %v", limit, err)
	}
}

func TestTheCacheOfEachLayerIsTracedAsItIsSetAndGrows(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	e := softEnv(t, &out, map[string]string{"requests": "1"})
	e.LookupEnv = func(name string) (string, bool) { return "", name == "TL_DEBUG_CACHE" }
	if err := run(t, "generate", e); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^\[Cache SET layer 0\] k buffer ptr: 0x[0-9a-f]+, shape: \[\d+, \d+\]$`).
		MatchString(out.String()) || !strings.Contains(out.String(), "[Cache UPDATE layer 0] new_k buffer ptr: 0x") {
		t.Errorf("%s", out.String())
	}
}

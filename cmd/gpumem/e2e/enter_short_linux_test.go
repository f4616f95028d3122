package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

// An agent that is on its way when the recording ends is awaited: what brought it in
// would stay in the program's memory for good.
func TestAnAttachThatEndsAtOnceTakesItsTextOutAgain(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	for in, tried := 0, 0; in < 4; tried++ {
		if tried == 12 {
			t.Fatalf("%d of %d came in", in, tried)
		}
		dir := t.TempDir()
		got := gpumem(t, dir, "attach", pidOf(g.Cmd), "-q", "--for", "40ms", "--interval", "10ms", "--out", "run")
		events, err := os.ReadFile(filepath.Join(dir, "run", record.FileEvents))
		// On a busy machine the program may not get the processor while it is waited for.
		if strings.Contains(got.stderr, "has not come back to Python since") {
			t.Logf("once more: %s", got.stderr)
			continue
		}
		in++
		if strings.Contains(got.stderr, "stays in the program") || err == nil &&
			!strings.Contains(string(events), `"entered"`) {
			t.Errorf("%v: %s%s", err, got.stderr, events)
		}
	}
	g.isCleanBut(t, before, aDescriptor)
}

package e2e

import (
	"strings"
	"testing"
)

// In a __main__ that runpy made, as multiprocessing does for its workers and tools for
// scripts that they are given, __builtins__ is a dictionary and no module.
func TestAProgramWhoseMainWasMadeByRunpyIsEnteredAndRunsOn(t *testing.T) {
	t.Parallel()
	const run = `import runpy, sys; runpy.run_path(sys.argv[1], run_name="__main__")`
	g := startGuest(t, []string{"python3", "-c", run}, "grow")
	before := g.state(t)
	cmd, text := joined(t, g, t.TempDir(), "--for", "3s")
	if err := cmd.Wait(); err != nil || strings.Contains(text.String(), "warning") {
		t.Errorf("%v\n%s", err, text)
	}
	g.isCleanBut(t, before, aDescriptor)
}

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestOfSeveralThatAttachAtTheSameMomentOneComesIn(t *testing.T) {
	t.Parallel()
	g := startGuest(t, []string{"python3"})
	before := g.state(t)
	for range 3 {
		dir := t.TempDir()
		var all [3]*exec.Cmd
		var texts [3]bytes.Buffer
		for i := range all {
			out := string(rune('a' + i))
			all[i] = exec.Command(binary, "attach", pidOf(g.Cmd), "-q", "--no-tui", "--for", "4s",
				"--out", out)
			all[i].Dir, all[i].Stderr = dir, &texts[i]
			if err := all[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		in, told := 0, 0
		for i, cmd := range all {
			if err := cmd.Wait(); err != nil {
				t.Errorf("%v\n%s", err, &texts[i])
			}
			b, err := os.ReadFile(filepath.Join(dir, string(rune('a'+i)), record.FileEvents))
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte(`"entered"`)) {
				in++
			}
			if strings.Contains(texts[i].String(), "gpumem is in it already") {
				told++
			}
		}
		if in != 1 || told != 2 {
			t.Errorf("%d came in and %d were told:\n%s\n%s\n%s", in, told, &texts[0], &texts[1], &texts[2])
		}
		before = g.isCleanBut(t, before, aDescriptor)
	}
}

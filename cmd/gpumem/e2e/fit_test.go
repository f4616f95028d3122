package e2e

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// profiled is a run folder with a profiled window of a real model.
func profiled(t *testing.T) string {
	t.Helper()
	in, err := os.Open(filepath.Join("..", "..", "..", "report", "peak", "testdata", "window.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	events, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"events.jsonl": string(events),
		"run.json":    `{"schema":1,"command":["train"],"start":"2026-11-22T00:00:00Z"}`,
		"samples.csv": "t_ms,pool_live_bytes,pool_idle_bytes,gpu_bytes\n0,643432448,841351168,2000000000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFitAndTuneAnswerFromAProfiledRun(t *testing.T) {
	t.Parallel()
	dir := profiled(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"fit", dir, "--memory", "24GiB"}, "it fits 24.0 GiB: it needs at most 1.86 GiB"},
		{[]string{"fit", dir, "--memory", "1GiB"}, "it does not fit 1 GiB"},
		{[]string{"tune", dir}, "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True. It saves 136 MiB"},
		{[]string{"tune", dir, "--json"}, `"recommended": "PyTorch, expandable segments"`},
		{[]string{"export", dir, "--to", "folded"}, "activations;train.py:54 <module>;train.py:37 step"},
		{[]string{"report", dir}, "The allocator's own count agrees."},
	} {
		if got := gpumem(t, dir, c.args...); got.code != 0 ||
			!strings.Contains(strings.Join(strings.Fields(got.stdout), " "), c.want) {
			t.Errorf("%v: code %d\n%s%s", c.args, got.code, got.stdout, got.stderr)
		}
	}
	for _, args := range [][]string{{"fit", dir}, {"fit"}, {"tune"},
		{"fit", dir, "--memory", "1GiB", "--batch", "1,2"}} {
		if got := gpumem(t, dir, args...); got.code != 2 {
			t.Errorf("%v: code %d, %s", args, got.code, got.stderr)
		}
	}
}

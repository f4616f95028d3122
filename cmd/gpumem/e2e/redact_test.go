package e2e

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/answers"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// filesBelow are the contents of a folder's files by name, profiles unpacked.
func filesBelow(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".gz") {
			data = gunzip(t, data)
		}
		out[e.Name()] = string(data)
	}
	return out
}

func gunzip(t *testing.T, data []byte) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(z); err != nil {
		t.Fatal(err)
	}
	return data
}

// secretRun writes a run folder whose every name begins with "zq".
func secretRun(t *testing.T, dir string) {
	t.Helper()
	w, err := record.Create(dir,
		record.Meta{Schema: 1, Command: []string{"/home/zqalice/bin/zqtrain", "--data=/srv/zqcorp"},
			Host: "zqhost-07.zqcorp.example",
			OS:   "linux/amd64 6.8.0-zqkernel", Device: "cuda:0 NVIDIA H200", Driver: "NVIDIA 580.65.06",
			Env:      map[string]string{"CUDA_ZQ": "zqvalue"},
			Versions: map[string]string{"torch": "2.11.0+zqbuild", "zqlib": "1.0"},
			Flags:    map[string]string{"interval": "50ms", "out": "/srv/zqout"}}, record.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		err := w.Sample(record.Row{T: time.Duration(i) * 50 * time.Millisecond,
			Cells: []record.Cell{{Column: record.ColStep, Value: int64(i)},
				{Column: record.ColGPU, Value: int64(i+100) << 20},
				{Column: record.ColLive, Value: int64(i+50) << 20}, {Column: record.ColIdle, Value: 20 << 20},
				{Column: "zq_bytes", Value: 1}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range []record.Event{
		{TMs: 100, Kind: record.KindPhase, Name: "zqphase", At: "/home/zqalice/zqtrain.py:7:1"},
		{TMs: 19000, Kind: record.KindWarning, Text: "the program could not purge: zqerror at /home/zqalice"},
		{TMs: 19900, Kind: record.KindSites,
			Sites: []record.Site{{Site: "/home/zqalice/zqtrain.py:41 zqmodel.Step", Bytes: 400 << 20,
				Count: 400}}},
		{TMs: 19950, Kind: record.KindHolders,
			Holders: []record.Holder{{Path: "__main__.zqhistory[…]", Bytes: 400 << 20, Count: 400}}},
		{TMs: 19990, Kind: record.KindEvent, Name: "zq",
			Detail: []byte(`{"zqkey":["zqvalue",9007199254740993]}`)},
	} {
		if err := w.Event(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestARedactedFolderHoldsNoNameOfTheOriginal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := filepath.Join(dir, "zqrun")
	secretRun(t, run)
	if err := os.WriteFile(filepath.Join(run, record.FileStdout), []byte("zqoutput\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := gpumem(t, dir, "report", "zqrun", "--json"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	got := gpumem(t, dir, "report", "zqrun", "--redact", "-o", "shared")
	if got.code != 0 || !strings.Contains(got.stderr, "left out: stdout.log") {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	files := filesBelow(t, filepath.Join(dir, "shared"))
	if want := answers.RunFiles(); len(files) != len(want) {
		t.Errorf("%d files, want %v", len(files), want)
	}
	secret := regexp.MustCompile(`(?i)zq[a-z_]*`)
	for name, text := range files {
		if left := secret.FindAllString(text, 3); left != nil {
			t.Errorf("%s still has %q", name, left)
		}
	}
	if !strings.Contains(files[record.FileEvents], "9007199254740993") {
		t.Error("a number of a detail has lost digits")
	}
	before, err := record.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	after, err := record.Open(filepath.Join(dir, "shared"))
	if err != nil {
		t.Fatal(err)
	}
	want, now := verdict.Judge(before, verdict.Options{}), verdict.Judge(after, verdict.Options{})
	if now.Verdict != verdict.AppLeak || now.Verdict != want.Verdict || now.Confidence != want.Confidence ||
		len(now.Sites) != 1 || len(now.Holders) != 1 {
		t.Errorf("redacted: %s\noriginal: %s", now.Summary, want.Summary)
	}
}

// TestARedactedWorkloadIsNotTraceable redacts what a real run leaves behind.
func TestARedactedWorkloadIsNotTraceable(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	if got := gpumem(t, dir, "run", "-q", "--out", "secretplace", "nqueens", "--attempts=2", "--solutions=9",
		"--fault=uncut-graph"); got.code != 0 {
		t.Fatalf("exit code %d\n%s", got.code, got.stderr)
	}
	if got := gpumem(t, dir, "report", "secretplace", "--redact", "-o", "shared"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	host, _ := os.Hostname()
	words := []string{"secretplace", "accumulate", "chain.go", "softmax", "diagonals",
		filepath.Base(filepath.Dir(dir))}
	if len(host) > 4 { // a shorter one stands in other words
		words = append(words, host)
	}
	original := filesBelow(t, filepath.Join(dir, "secretplace"))
	if !strings.Contains(original[record.FileEvents], "diagonals") {
		t.Error("the run has no sites: the test looks at nothing")
	}
	for name, text := range filesBelow(t, filepath.Join(dir, "shared")) {
		for _, w := range words {
			if strings.Contains(text, w) {
				t.Errorf("%s still has %q", name, w)
			}
		}
	}
}

func TestRedactionOfOneReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secretRun(t, filepath.Join(dir, "zqrun"))
	text := gpumem(t, dir, "report", "zqrun", "--redact", "--salt", "s")
	again := gpumem(t, dir, "report", "zqrun", "--redact", "--salt", "s", "--format", "text", "-o", "one.txt")
	one, err := os.ReadFile(filepath.Join(dir, "one.txt"))
	if text.code != 0 || again.code != 0 || err != nil || string(one) != text.stdout {
		t.Errorf("exit codes %d and %d, %v; the two reports differ: %v", text.code, again.code, err,
			string(one) != text.stdout)
	}
	if other := gpumem(t, dir, "report", "zqrun", "--redact"); other.stdout == text.stdout {
		t.Error("another salt gives the same report")
	}
	diff := gpumem(t, dir, "diff", "zqrun", "zqrun", "--redact", "--format", "html")
	for what, got := range map[string]string{"text": text.stdout, "diff": diff.stdout} {
		if got == "" || strings.Contains(strings.ToLower(got), "zq") {
			t.Errorf("%s of %d bytes has a name", what, len(got))
		}
	}
}

func TestRedactionOverwritesNothingButARun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secretRun(t, filepath.Join(dir, "run"))
	for name, files := range map[string][]string{"full": {"thesis.txt"}, "other": {record.FileMeta}} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(dir, name, f), []byte("{}"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report", "run", "--redact", "-o", "full", "--force"}, exitFailed, "holds thesis.txt"},
		{[]string{"report", "run", "--redact", "-o", "other"}, exitFailed, "--force"},
		{[]string{"report", "run", "--redact", "-o", "other", "--force"}, exitDone, "redacted copy"},
		{[]string{"report", "run", "--redact", "-o", "run", "--force"}, exitDone, "redacted copy"},
		{[]string{"report", "run", "--salt", "s"}, exitUsage, "--redact"},
		{[]string{"diff", "run", "run", "--salt", "s"}, exitUsage, "--redact"},
	} {
		if got := gpumem(t, dir, c.args...); got.code != c.code || !strings.Contains(got.stderr, c.want) {
			t.Errorf("gpumem %v: exit code %d, %q", c.args, got.code, got.stderr)
		}
	}
	if files := filesBelow(t, filepath.Join(dir, "full")); !slices.Equal([]string{files["thesis.txt"]},
		[]string{"{}"}) {
		t.Error("a file that is no run's was touched")
	}
}

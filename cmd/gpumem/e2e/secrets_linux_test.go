package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/export"
	"github.com/gpumem/gpumem/tracer/record"
)

// plantedSecret is what every secret of these tests has in it.
var plantedSecret = regexp.MustCompile(`(?i)zq\d\d`)

// noSecret checks one text.
func noSecret(t *testing.T, where, text string) {
	t.Helper()
	if text == "" {
		t.Errorf("%s is empty: nothing is tried", where)
	}
	for _, at := range plantedSecret.FindAllStringIndex(text, 3) {
		t.Errorf("%s has a secret: …%s…", where, text[max(at[0]-60, 0):min(at[1]+30, len(text))])
	}
}

// secretArguments have a secret each, those of plainArguments are to be read.
func secretArguments() []string {
	return []string{
		"--token=zq10", "--password", "zq11 with blanks", "--api-key", "zq12", "https://u:zq13@h/", "-u",
		"bob:zq14", "DB_PASS=zq15",
		`{"password": "zq16", "api_keys": ["zq17"]}`, "Authorization: Bearer zq18",
		"hf_zq19abcdefghijklmnopqrstuvwxyz", "--conn=Server=h;Password=zq20;X=1",
		"https://h/?sig=zq21abcdefghij&page=2", "sk-proj-zq22abcdefghijklmn",
		"-----BEGIN PRIVATE KEY-----\nzq23\n-----END PRIVATE KEY-----",
		"bob:zq24@db.example.org", "--cookie", "a=zq25", "-Dapi.key=zq26", "--clientSecret=zq27",
		"redis://:zq28@h",
		"export X_TOKEN='zq29'; ls",
	}
}

func plainArguments() []string {
	return []string{"--max-new-tokens", "128", "--tokenizer", "gpt2", "--sort-key", "name", "--keep", "5",
		"--passes=3", "--author", "Alice", "--monkey=see",
		"--pad-token-id=50256", "--key-dim", "64", "TOKENIZERS_PARALLELISM=false", "--license", "MIT"}
}

func secretVariables() []string {
	return []string{
		"CUDA_PASS=zq30", "NVIDIA_APIKEY=zq31", "TORCH_AUTH=zq32", "JAX_PRIVATE_KEY=zq33", "VK_DB_PWD=zq34",
		"GPUMEM_KEY=zq35", "TL_SESSION=zq36",
		"TORCH_URL=https://u:zq37@h/", "XLA_FLAGS=--xla_key=zq38 --xla_dump_to=/tmp/d", "JAX_COOKIE=zq39",
		"TORCH_LICENSE=zq40", "CUDA_DSN=zq41",
		"OMP_SALT=zq42", "TORCH_NOTE=xoxb-zq43-123456789012", "NCCL_SIGNATURE=zq44", "HIP_JWT=zq45",
		"TORCH_CRED=zq46", "NVIDIA_PASSPHRASE=zq47",
		"TORCH_TOKENIZER=gpt2", "OMP_NUM_THREADS=2", "TORCH_MAX_TOKENS=100000", "TORCH_AUTHOR=Alice",
	}
}

// secretProgram starts gpumem on the program in a folder that has a secret in
// its name, and returns when the program has done its part.
func secretProgram(t *testing.T, dir string) (gpumem *exec.Cmd, output string) {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "secrets", "program.py"))
	if err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(dir, "password=zq48")
	if err := os.Mkdir(place, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "program.py"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	output = filepath.Join(dir, "output")
	out, err := os.Create(output)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	args := slices.Concat([]string{"run", "--no-tui", "-v", "--out", filepath.Join(dir, "run"), "--metrics",
		"127.0.0.1:0", "--", "python3", "program.py"},
		secretArguments(), plainArguments())
	gpumem = exec.Command(binary, args...)
	gpumem.Dir, gpumem.Env, gpumem.Stdout, gpumem.Stderr = place,
		append(os.Environ(), secretVariables()...), out, out
	if err := gpumem.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gpumem.Process.Kill() })
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(place, "ready")); err == nil {
			return gpumem, output
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(output)
			t.Fatalf("the program is not ready:\n%s", text)
		}
	}
}

// TestNoSecretLeavesThePlaceWhereItStands plants a secret in every place from
// which a string can come, and looks at all that gpumem writes and prints.
func TestNoSecretLeavesThePlaceWhereItStands(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	traced, output := secretProgram(t, dir)
	time.Sleep(1200 * time.Millisecond) // descendants are looked for twice a second
	noSecret(t, "the metrics endpoint", scrape(metricsURL(t, output)))
	noSecret(t, "diagnose", gpumem(t, dir, "diagnose", "--all").stdout)
	diagnosed := gpumem(t, dir, "diagnose", "--json", "--all").stdout
	noSecret(t, "diagnose --json", diagnosed)
	if !strings.Contains(diagnosed, "--max-new-tokens") || !strings.Contains(diagnosed, "--token=***") {
		t.Error("diagnose does not show the program's arguments: the test looks at nothing")
	}
	watched, watch := background(t, "watch", "--metrics", "127.0.0.1:0", "--gpu", "none")
	url := metricsURL(t, watched)
	awaitSeries(t, url, `gpumem_account_bytes\{.*process="program.py".*`)
	noSecret(t, "watch's metrics", scrape(url))
	watch.Process.Kill()
	if err := os.WriteFile(filepath.Join(dir, "password=zq48", "done"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := traced.Wait(); err != nil {
		t.Fatal(err)
	}
	printed, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	noSecret(t, "what run prints", string(printed))
	run := filepath.Join(dir, "run")
	for name, text := range filesBelow(t, run) {
		noSecret(t, name, text)
	}
	checkMasked(t, run, string(printed))
	noSecretInReports(t, dir)
}

// checkMasked checks that what is not secret can be read, that what was masked
// is told, and that the planted places were reached at all.
func checkMasked(t *testing.T, dir, printed string) {
	t.Helper()
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range plainArguments() {
		if !slices.Contains(run.Meta.Command, arg) {
			t.Errorf("%s is not in %q", arg, run.Meta.Command)
		}
	}
	for name, value := range map[string]string{"TORCH_TOKENIZER": "gpt2", "OMP_NUM_THREADS": "2",
		"TORCH_MAX_TOKENS": "100000", "TORCH_AUTHOR": "Alice",
		"XLA_FLAGS": "--xla_key=*** --xla_dump_to=/tmp/d", "CUDA_PASS": "***"} {
		if run.Meta.Env[name] != value {
			t.Errorf("%s is %q", name, run.Meta.Env[name])
		}
	}
	m := run.Meta.Masked
	if m == nil || m.Values < 60 || !slices.Contains(m.Names, "--token") ||
		!slices.Contains(m.Names, "CUDA_PASS") {
		t.Errorf("masked: %+v", m)
	}
	if !strings.Contains(printed, "*** stands for what looks like a secret") {
		t.Error("the report does not say that something is masked")
	}
	events, err := os.ReadFile(filepath.Join(dir, record.FileEvents))
	if err != nil {
		t.Fatal(err)
	}
	for _, seen := range []string{"PGPASSWORD=***", "mysql -uroot -p***", "server: worker --token=***",
		"AWS_SECRET_ACCESS_KEY=***", "mysqldump", `"password":"***"`, "worker password=***",
		"curl -u bob:***", "cannot run PGPASSWORD=***", "cache['***']", "load --api-key=***",
		"made-up token=***"} {
		if !strings.Contains(string(events), seen) {
			t.Errorf("events.jsonl has no %q: the place is not tried", seen)
		}
	}
}

// noSecretInReports prints the run, a recording of another tool and a folder of
// a version that masked nothing, in each format.
func noSecretInReports(t *testing.T, dir string) {
	t.Helper()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("memray.csv",
		"allocator,num_allocations,size,tid,thread_name,stack_trace\nMALLOC,1,1340000,1,0x1,f;/srv/password=zq81/x.py;58\n"+
			"MALLOC,1,71000000,1,0x1,g;https://u:zq82@h/x.py;502|ghp_zq83abcdefghijklmnopqrst;/b.py;5\n")
	old, err := json.Marshal(record.Meta{Schema: 1, Command: []string{"a", "--token", "zq84"},
		Env: map[string]string{"TORCH_PASS": "zq85"}, Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	write("old/run.json", string(old))
	write("old/samples.csv", "t_ms,rss_bytes\n0,1\n50,2\n100,3\n")
	write("old/events.jsonl",
		`{"t_ms":1,"kind":"statement","name":"PGPASSWORD=zq86 x","detail":{"token":"zq87"}}`+"\n"+
			`{"t_ms":2,"kind":"warning","text":"https://u:zq88@h/ failed"}`+"\n")
	for _, path := range []string{"run", "old", "memray.csv"} {
		for _, format := range []string{"text", "json", "csv", "html", "markdown"} {
			noSecret(t, path+" as "+format, gpumem(t, dir, "report", path, "--format", format).stdout)
		}
		for _, known := range export.Formats() {
			to := string(known.Format)
			if got := gpumem(t, dir, "export", path, "--to", to, "-o", "exported.gz",
				"--force"); got.code != 0 {
				continue // it has nothing of the kind
			}
			text, err := os.ReadFile(filepath.Join(dir, "exported.gz"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(string(text), "\x1f\x8b") {
				text = gunzip(t, text)
			}
			noSecret(t, path+" to "+to, string(text))
		}
	}
	if got := gpumem(t, dir, "import", "memray.csv", "--out", "imported"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	if got := gpumem(t, dir, "report", "run", "--redact", "-o", "redacted"); got.code != 0 {
		t.Fatal(got.stderr)
	}
	for _, folder := range []string{"imported", "redacted", "run"} {
		for name, text := range filesBelow(t, filepath.Join(dir, folder)) {
			noSecret(t, folder+"/"+name, text)
		}
		checkModes(t, filepath.Join(dir, folder))
	}
}

// checkModes checks that a run folder is its owner's alone.
func checkModes(t *testing.T, dir string) {
	t.Helper()
	for path, want := range modesBelow(t, dir) {
		if want&0o077 != 0 {
			t.Errorf("%s has mode %v", path, want)
		}
	}
}

func modesBelow(t *testing.T, dir string) map[string]os.FileMode {
	t.Helper()
	modes := map[string]os.FileMode{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		modes[path] = info.Mode().Perm()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return modes
}

func TestARunFolderIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := []string{"run", "-q", "--no-tui", "--out", "run", "--force", "--", "sleep", ".3"}
	for _, umask := range []string{"000", "022", "077"} {
		cmd := exec.Command("sh", "-c", `umask "$1"; shift; exec "$@"`, "sh", umask, binary)
		cmd.Args = append(cmd.Args, run...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		checkModes(t, filepath.Join(dir, "run"))
		if err := os.Chmod(filepath.Join(dir, "run"), 0o755); err != nil { // as an older version left it
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, "run", record.FileMeta), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "run", "mine.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := gpumem(t, dir, run...); got.code != 0 {
		t.Fatal(got.stderr)
	}
	for path, mode := range modesBelow(t, filepath.Join(dir, "run")) {
		name := filepath.Base(path)
		if want := name == "run" || name == "mine.txt"; want != (mode&0o077 != 0) {
			t.Errorf(
				"%s has mode %v; a folder that holds other files stays as it was, and the run's files are "+
					"closed",
				name, mode)
		}
	}
}

func TestAnErrorThatQuotesACommandHasNoSecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, args := range [][]string{
		{"run", "--no-tui", "--out", "a", "--", "PGPASSWORD=zq90 psql"},
		{"run", "--no-tui", "--out", "b", "--", "./no-such-program", "--token=zq91"},
		{"run", "--no-tui", "--", "https://u:zq92@h/"},
	} {
		got := gpumem(t, dir, args...)
		if got.code != 127 {
			t.Errorf("%q: exit code %d", args, got.code)
		}
		noSecret(t, strings.Join(args[:3], " "), got.stdout+got.stderr)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		noSecret(t, "the name of a folder", e.Name())
	}
}

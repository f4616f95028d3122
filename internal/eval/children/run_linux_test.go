package children

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gpumem/gpumem/internal/loader/standin"
)

// patience is how long a child may take before it is said to hang. No child of
// the table takes a second by itself; a busy machine may need many.
const patience = 40 * time.Second

// side is one of the two runs of a kind. Both have folders of their own, whose
// names are equally long.
type side struct {
	name   string
	traced bool
	dir    string // with cwd, home, bin and what the run leaves
}

// environment is all that a child has beside what its kind adds.
func (s *side) environment(k *kind) []string {
	path := append([]string{filepath.Join(s.dir, "bin")}, searched()...)
	base := []string{"PATH=" + strings.Join(path, ":"), "HOME=" + filepath.Join(s.dir, "home"),
		"USER=somebody", "LANG=C.UTF-8", "TERM=dumb", "TMPDIR=" + filepath.Join(s.dir, "tmp"),
		// gpumem keeps its agent there from one run to the next.
		"XDG_CACHE_HOME=" + filepath.Join(shared.dir, "cache")}
	return s.expand(append(base, k.env...))
}

// searched are the folders where children find programs: those of testdata, the
// system's, Go's and Node's, and at last Pythons of other versions.
func searched() []string {
	path := []string{filepath.Join(shared.dir, "bin"),
		"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
	for _, name := range []string{"go", "node"} {
		if tool, err := exec.LookPath(name); err == nil {
			path = append(path, filepath.Dir(tool))
		}
	}
	root := os.Getenv("PYENV_ROOT")
	if root == "" {
		root = filepath.Join(os.Getenv("HOME"), ".pyenv")
	}
	versions, _ := filepath.Glob(filepath.Join(root, "versions", "3.*", "bin"))
	return append(path, versions...)
}

// here reports whether children find a program.
func here(name string) bool {
	return slices.ContainsFunc(searched(), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, name))
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	})
}

// agentFolder is where gpumem keeps its Python agent for all runs of a user. Its
// own tests say what lies there.
const agentFolder = "home/.cache/gpumem"

// expand puts the folders in for $CWD, the working directory, and $TOOLS, where
// the compiled programs are.
func (s *side) expand(words []string) []string {
	r := strings.NewReplacer("$CWD", filepath.Join(s.dir, "cwd"), "$TOOLS", filepath.Join(shared.dir, "bin"))
	out := make([]string, 0, len(words))
	for _, word := range words {
		out = append(out, r.Replace(word))
	}
	return out
}

// prepare makes the folders, the files of the kind, and run, which is how the
// child is started in an outer script; run-and-tell leaves gpumem's answer on
// stderr, where it is by default.
func (s *side) prepare(k *kind) error {
	for _, name := range []string{"cwd", "home/.cache", "bin", "tmp", "runs"} {
		if err := os.MkdirAll(filepath.Join(s.dir, name), 0o755); err != nil {
			return err
		}
	}
	run := "#!/bin/sh\nexec \"$@\"\n"
	if s.traced {
		run = fmt.Sprintf("#!/bin/sh\nexec %s \"$@\"\n", strings.Join(s.gpumem("$$"), " "))
	}
	tell := regexp.MustCompile(` -o \S+`).ReplaceAllString(run, "")
	for name, text := range map[string]string{"run": run, "run-and-tell": tell} {
		if err := standin.WriteProgram(filepath.Join(s.dir, "bin", name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	for name, text := range k.files {
		name, executable := strings.CutSuffix(name, "!")
		path, mode := filepath.Join(s.dir, "cwd", name), fs.FileMode(0o644)
		if executable {
			mode = 0o755
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := standin.WriteProgram(path, []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// gpumem is what stands before a child under gpumem: default flags, but the
// answer goes to a file, since stderr is what is compared.
func (s *side) gpumem(id string) []string {
	run := filepath.Join(s.dir, "runs", id)
	return []string{filepath.Join(shared.dir, "gpumem"), "run", "-q", "--no-tui",
		"--out", run, "-o", run + ".txt", "--"}
}

// run runs the child and returns its record.
func (s *side) run(k *kind) ([]string, error) {
	if err := s.prepare(k); err != nil {
		return nil, err
	}
	mode := "script"
	switch {
	case k.keys != nil:
		mode = "terminal"
	case k.job:
		mode = "job"
	}
	args := []string{filepath.Join(s.dir, "status"), mode, fmt.Sprint(patience.Seconds())}
	if s.traced && k.outer == "" {
		args = append(args, s.gpumem("run")...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	args = append(args, s.expand(k.command())...)
	cmd := exec.CommandContext(ctx, filepath.Join(shared.dir, "bin", "launch"), args...)
	cmd.Dir, cmd.Env = filepath.Join(s.dir, "cwd"), s.environment(k)
	streams, err := s.talk(cmd, k)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", strings.Join(cmd.Args, " "), err)
	}
	ending, err := os.ReadFile(filepath.Join(s.dir, "status"))
	if err != nil {
		return nil, fmt.Errorf("how it ended: %w", err)
	}
	record := lines("end", s.ending(string(ending)))
	for _, stream := range streams {
		record = append(record, lines(stream.name, stream.text.String())...)
	}
	left, err := s.left(k)
	record = append(record, left...)
	for i := range record {
		record[i] = strings.ReplaceAll(record[i], s.dir, "$DIR")
		record[i] = strings.ReplaceAll(record[i], shared.dir, "$SHARED")
	}
	return record, err
}

// ending is how the program ended as gpumem passes it on: 128 and the number of
// the signal.
func (s *side) ending(text string) string {
	var out []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		var number int
		if _, err := fmt.Sscanf(line, "signal %d", &number); err == nil && !s.traced {
			line = fmt.Sprintf("exit %d", 128+number)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// stream is what came out of the child in one way.
type stream struct {
	name string
	text *bytes.Buffer
}

// talk starts the launcher, gives it its input and takes its output in, until
// everybody who could write has ended.
func (s *side) talk(cmd *exec.Cmd, k *kind) ([]stream, error) {
	if k.keys != nil {
		text, err := typed(cmd, k.keys)
		return []stream{{"terminal", text}}, err
	}
	out, errs := new(bytes.Buffer), new(bytes.Buffer)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_, _ = io.WriteString(stdin, k.stdin) // a child need not read
	stdin.Close()
	return []stream{{"stdout", out}, {"stderr", errs}}, cmd.Wait()
}

// lines puts the name of its stream before each line.
func lines(name, text string) []string {
	if text == "" {
		return nil
	}
	ended := strings.HasSuffix(text, "\n")
	var out []string
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if !utf8.ValidString(line) {
			line = fmt.Sprintf("%q", line)
		}
		out = append(out, name+": "+line)
	}
	if !ended {
		out = append(out, name+": (no newline at the end)")
	}
	return out
}

// left lists what the child left in its folders.
func (s *side) left(k *kind) ([]string, error) {
	var out []string
	for _, top := range []string{"cwd", "home", "tmp"} {
		root := filepath.Join(s.dir, top)
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || path == root {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(s.dir, path)
			if s.traced && name == agentFolder {
				return fs.SkipDir
			}
			if _, given := k.files[strings.TrimPrefix(name, "cwd/")]; given {
				return nil
			}
			out = append(out, fmt.Sprintf("left: %s %v", name, info.Mode()))
			if d.IsDir() && strings.HasPrefix(d.Name(), "gpumem-") {
				return fs.SkipDir
			}
			if !info.Mode().IsRegular() || info.Size() > 4096 || filepath.Ext(path) == ".pyc" {
				return nil
			}
			if text, err := os.ReadFile(path); err == nil {
				out = append(out, lines(name, string(text))...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// both runs the two sides of a kind at the same time.
func both(dir string, k *kind, sides [2]side) (records [2][]string, err error) {
	var group sync.WaitGroup
	failures := make([]error, 2)
	for i := range sides {
		sides[i].dir = filepath.Join(dir, sides[i].name)
		group.Go(func() { records[i], failures[i] = sides[i].run(k) })
	}
	group.Wait()
	for i, err := range failures {
		if err != nil {
			return records, fmt.Errorf("%s: %w", sides[i].name, err)
		}
	}
	return records, nil
}

// absent skips a kind for what is not here; where everything has to be tested
// it fails.
func absent(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// check runs a kind and fails for what differs.
func check(t *testing.T, k *kind) {
	for _, name := range k.maybe {
		if !here(name) {
			t.Skip("this machine has no " + name)
		}
	}
	for _, name := range k.needs {
		if runtime.GOARCH != "amd64" && strings.Contains(name, "-32") {
			t.Skip("only x86-64 has 32-bit programs beside it")
		}
		if err := shared.absent[name]; err != nil {
			absent(t, err.Error())
		}
		if !here(name) {
			absent(t, name+" is not here")
		}
	}
	plain := regexp.MustCompile(`[^a-zA-Z0-9]+`).ReplaceAllString(k.name, "-")
	dir := filepath.Join(shared.dir, fmt.Sprintf("%s-%08x", plain, crc32.ChecksumIEEE([]byte(k.name))))
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	bare, traced := side{name: "bare"}, side{name: "with", traced: true}
	if *steady {
		traced.traced = false
	}
	records, err := both(dir, k, [2]side{bare, traced})
	if err != nil {
		t.Fatal(err)
	}
	undeclared, untrue := k.verdict(records[0], records[1])
	if *steady {
		untrue = nil
	}
	if *show {
		t.Logf("bare:\n%s", strings.Join(k.comparable(records[0]), "\n"))
	}
	for _, d := range untrue {
		t.Errorf("a declared difference no longer shows (%s): no line matches %s", d.why, d.lines)
	}
	if len(undeclared) == 0 {
		return
	}
	again, err := both(filepath.Join(dir, "again"), k, [2]side{{name: "bare"}, {name: "else"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(k.comparable(again[0]), k.comparable(again[1])); len(d) > 0 {
		t.Errorf("two runs without gpumem differ as well:\n%s", short(d))
	}
	t.Errorf("under gpumem this differs (-: bare, +: under gpumem):\n%s", short(undeclared))
}

// short is the beginning of a long list of lines.
func short(lines []string) string {
	const most = 60
	if len(lines) > most {
		lines = append(slices.Clip(lines[:most]), fmt.Sprintf("… and %d lines more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}

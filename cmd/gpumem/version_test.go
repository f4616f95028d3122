package main

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
)

func TestTheVersionIsSemanticAndTheChangelogBeginsWithIt(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`^0\.\d+\.\d+$`).MatchString(release) {
		t.Errorf("release %q is no version 0.x", release)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	first := regexp.MustCompile(`(?m)^## (\S+)`).FindStringSubmatch(string(text))
	if first == nil || first[1] != release {
		t.Errorf("CHANGELOG.md begins with %q, the source says %s", first, release)
	}
}

func TestWhatTheBuildRecordedIsTheCommit(t *testing.T) {
	t.Parallel()
	const commit = "5dc15fe1234567890abcdef01234567890abcdef"
	for name, c := range map[string]struct {
		info   debug.BuildInfo
		from   string // told by the linker
		commit string
		known  bool // whether changes beyond it are known
	}{
		"in a checkout": {debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: commit}, {Key: "vcs.modified", Value: "true"}}}, "", commit, true},
		"as a module": {debug.BuildInfo{Main: debug.Module{
			Version: "v0.0.0-20261122101010-5dc15fe12345"}}, "", "5dc15fe12345", false},
		"as a release":  {debug.BuildInfo{Main: debug.Module{Version: "v0.1.0"}}, "", "", false},
		"by go run":     {debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "", "", false},
		"by a script":   {debug.BuildInfo{}, commit + " 2026-11-22T19:00:00Z", commit, true},
		"without facts": {debug.BuildInfo{}, "", "", false},
	} {
		v := versionOf(&c.info, c.from)
		if v.Commit != c.commit || (v.Modified != nil) != c.known || v.Version != release {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

func TestABuildWithoutLoadingSaysSo(t *testing.T) {
	t.Parallel()
	v := versionOf(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-tags", Value: "other,nodl"}}}, "")
	if v.Drivers {
		t.Errorf("%+v", v)
	}
}

func TestTheOtherToolOfThatNameIsNoticed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self := filepath.Join(dir, "venv", "bin", "gpumem")
	write("venv/bin/gpumem", "\x7fELF")
	write("venv/lib/python3.11/site-packages/gpumem_profiler-0.1.0.dist-info/METADATA", "Name: ours\n")
	path := filepath.Join(dir, "empty") + string(os.PathListSeparator) + filepath.Dir(self)
	if got := namesakes(self, path); len(got) != 0 {
		t.Errorf("we are taken for the other: %q", got)
	}
	write("venv/lib/python3.11/site-packages/gpumem-0.1.4.dist-info/METADATA", "Name: gpumem\n")
	if got := namesakes(self, path); len(got) != 1 || !strings.Contains(got[0], "is another tool") {
		t.Errorf("the package: %q", got)
	}
	write("other/gpumem", "#!/usr/bin/python3\nimport sys\nfrom gpumonitor.bw import main\nsys.exit(main())\n")
	path = filepath.Join(dir, "other") + string(os.PathListSeparator) + path
	if got := namesakes(self, path); len(got) != 2 || !strings.Contains(got[1], "on the PATH") {
		t.Errorf("the command: %q", got)
	}
}

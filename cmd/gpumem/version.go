package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// release is the version of this source, after https://semver.org. CHANGELOG.md
// begins with it, and the scripts that build packages read it here.
const release = "0.1.0"

// builtFrom is written by the linker and by nobody else (-X main.builtFrom=…): the
// commit, its time in RFC 3339, and "changes" where the source had some beyond it.
// Scripts that build packages set it, because Go itself records no commit in a
// worktree of git, nor where GOFLAGS forbids it.
var builtFrom string

// versionInfo is what `gpumem version --json` prints. What the build did not
// record is left out.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified *bool  `json:"modified,omitempty"` // whether the build had changes beyond the commit
	Time     string `json:"time,omitempty"`     // of the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Drivers  bool   `json:"loads_drivers"` // whether this build can load GPU drivers' libraries
}

func newVersionCommand(std stdio) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the commit it was built from",
		Args:  usage.Exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			if self, err := os.Executable(); err == nil {
				for _, other := range namesakes(self, os.Getenv("PATH")) {
					fmt.Fprintf(std.err, "gpumem: warning: %s\n", other)
				}
			}
			if !asJSON {
				_, err := fmt.Fprint(std.out, versionLine())
				return err
			}
			text, err := json.MarshalIndent(buildVersion(), "", "  ")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "%s\n", text)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func versionLine() string {
	v := buildVersion()
	commit := "commit unknown"
	if v.Commit != "" {
		commit = "commit " + v.Commit[:min(len(v.Commit), 12)]
		if v.Modified != nil && *v.Modified {
			commit += " with changes"
		}
	}
	return fmt.Sprintf("gpumem %s (%s) %s %s/%s\n", v.Version, commit, v.Go, v.OS, v.Arch)
}

// version is the version for files and reports, with the commit behind it where
// the build recorded one: 0.1.0+5dc15fe12345.
func version() string {
	v := buildVersion()
	if v.Commit == "" {
		return v.Version
	}
	text := v.Version + "+" + v.Commit[:min(len(v.Commit), 12)]
	if v.Modified != nil && *v.Modified {
		text += ".changes"
	}
	return text
}

// producer is what a report names as the program that made it.
func producer() string { return "gpumem " + version() }

func buildVersion() versionInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return versionOf(info, builtFrom)
}

// pseudoCommit is the commit at the end of a version that Go made up of it, as in
// v0.0.0-20261122101010-5dc15fe12345.
var pseudoCommit = regexp.MustCompile(`[-.][0-9]{14}-([0-9a-f]{12})(\+|$)`)

// versionOf reads what a build says of itself. A build by `go install …@v0.2.0`
// knows no commit, one in a checkout does, and `go run` knows nothing. from is what
// the linker was told: see builtFrom.
func versionOf(info *debug.BuildInfo, from string) versionInfo {
	v := versionInfo{Version: release, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Drivers: runtime.GOOS != "windows"}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			modified := s.Value == "true"
			v.Modified = &modified
		case "-tags":
			for tag := range strings.SplitSeq(s.Value, ",") {
				v.Drivers = v.Drivers && tag != "nodl"
			}
		}
	}
	if m := pseudoCommit.FindStringSubmatch(info.Main.Version); m != nil && v.Commit == "" {
		v.Commit = m[1]
	}
	if words := strings.Fields(from); len(words) >= 2 {
		modified := len(words) > 2
		v.Commit, v.Time, v.Modified = words[0], words[1], &modified
	}
	return v
}

// On PyPI the name gpumem belongs to another tool, which brings a command of the
// same name and a package gpumonitor. Ours is distributed as gpumem-profiler.
const (
	namesakeModule = "gpumonitor"
	ourPackage     = "gpumem-profiler"
)

// scriptHead is how much of a script is read to see whose it is: the scripts that
// pip writes have some hundred bytes.
const scriptHead = 4096

// namesakes are sentences about installations of the other gpumem: in the Python
// environment that the program self belongs to, and as the first command called
// gpumem on path. Files that cannot be read say nothing.
func namesakes(self, path string) []string {
	var found []string
	for _, pattern := range []string{"lib/python*/site-packages", "Lib/site-packages"} {
		metadata := filepath.Join(filepath.Dir(filepath.Dir(self)), filepath.FromSlash(pattern),
			"gpumem-*.dist-info", "METADATA")
		matches, _ := filepath.Glob(metadata) // the pattern is well formed unless the folder's name is odd
		for _, match := range matches {
			site := filepath.Dir(filepath.Dir(match))
			found = append(found, fmt.Sprintf("the Python package gpumem in %s is another tool with a "+
				"command of the same name; ours is %s, and whichever was installed last has the command",
				site, ourPackage))
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, "gpumem")
		if dir == "" || !isProgram(file) {
			continue
		}
		if bytes.Contains(head(file), []byte(namesakeModule)) {
			found = append(found, fmt.Sprintf("the command gpumem on the PATH, %s, is another tool (the "+
				"Python package gpumem); this one is %s", file, self))
		}
		break // only the first is what a shell starts
	}
	return found
}

func isProgram(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// head is the beginning of a file, empty where it cannot be read.
func head(file string) []byte {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, scriptHead))
	if err != nil {
		return nil
	}
	return text
}

package folders

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tui"
)

// GoingOn is the recording that goes on and began last: in this folder, else one that
// another gpumem on this machine writes elsewhere. Empty when there is none.
func GoingOn() string {
	if path := latestOf(recordingPaths(".")); path != "" {
		return path
	}
	return latestOf(writtenElsewhere("/proc"))
}

// FinishedText names the newest recording in dir that is finished, empty where there is
// none.
func FinishedText(dir string) string {
	list, err := In(dir)
	if err != nil || len(list) == 0 {
		return ""
	}
	return "No recording goes on. The newest here is finished; to play it back: gpumem watch " + list[0].Path
}

func recordingPaths(dir string) []string {
	list, err := In(dir)
	if err != nil {
		return nil
	}
	var paths []string
	for _, r := range list {
		if r.Seconds == nil {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// latestOf is the run folder that is being written and began last.
func latestOf(paths []string) string {
	latest, began := "", time.Time{}
	for _, path := range paths {
		meta, err := record.ReadMeta(path)
		if err == nil && tui.GoesOn(path) && (latest == "" || meta.Start.After(began)) {
			latest, began = path, meta.Start
		}
	}
	return latest
}

// writtenElsewhere are the run folders whose samples a gpumem has open. Processes of
// others cannot be looked into, and are left out.
func writtenElsewhere(proc string) []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil || !isGpumem(filepath.Join(proc, e.Name())) {
			continue
		}
		files, _ := os.ReadDir(filepath.Join(proc, e.Name(), "fd")) // one that may not be seen has none
		for _, f := range files {
			to, err := os.Readlink(filepath.Join(proc, e.Name(), "fd", f.Name()))
			dir := filepath.Dir(to)
			if err == nil && filepath.Base(to) == record.FileSamples && !slices.Contains(paths, dir) {
				paths = append(paths, dir)
			}
		}
	}
	return paths
}

// isGpumem reports whether a process calls itself gpumem.
func isGpumem(process string) bool {
	name, err := os.ReadFile(filepath.Join(process, "comm"))
	return err == nil && strings.Contains(string(name), "gpumem")
}

package naming

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/probe/scan"
)

// scripts are the endings of files that an interpreter runs.
func scripts() []string { return []string{".py", ".sh", ".jl", ".rb", ".pl", ".lua", ".js", ".R"} }

// Recording is what the recording of a command is called after: the script or the module
// where an interpreter or a launcher runs one, as train of "torchrun train.py", else the
// program.
func Recording(command []string) string {
	if len(command) == 0 {
		return ""
	}
	p := scan.Process{Command: command}
	script := Script(&p)
	if script == "" && interpreter.MatchString(Executable(&p)) {
		return Base(command[0]) // its program is in an argument, or comes through a pipe
	}
	if isScript(script) {
		return WithoutEnding(script)
	}
	for _, word := range command[1:] {
		if word == "-c" {
			break
		}
		if isScript(word) && !strings.HasPrefix(word, "-") {
			return WithoutEnding(Base(word))
		}
	}
	if script != "" {
		return script
	}
	return Base(command[0])
}

// WithoutEnding is a script's name without the ending that says its language.
func WithoutEnding(name string) string {
	if isScript(name) {
		return strings.TrimSuffix(name, filepath.Ext(name))
	}
	return name
}

func isScript(name string) bool { return slices.Contains(scripts(), filepath.Ext(name)) }

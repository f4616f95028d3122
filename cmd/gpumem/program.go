package main

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gpumem/gpumem/probe/scan"
)

// baseName is the last part of a path, of either kind of system.
func baseName(p string) string {
	if i := strings.LastIndexByte(p, '\\'); i >= 0 {
		p = p[i+1:]
	}
	return path.Base(filepath.ToSlash(p))
}

// interpreter matches programs whose name says little: what they run does.
var interpreter = regexp.MustCompile(`^(python|pypy|ruby|perl|node|bun|deno|java|Rscript|julia|lua|php|bash|sh|dash|zsh)[0-9.]*$`)

// executableName is the base name of a process's executable, as far as it is
// known; a login shell's leading "-" does not count.
func executableName(p *scan.Process) string {
	switch {
	case p.Executable != "":
		return strings.TrimSuffix(baseName(p.Executable), ".exe")
	case len(p.Command) > 0 && p.Command[0] != "":
		word, _, _ := strings.Cut(p.Command[0], " ") // programs that write their title there
		return strings.TrimSuffix(strings.TrimPrefix(baseName(word), "-"), ":")
	}
	return p.Name
}

// scriptOf is what an interpreter runs: the base name of the script, or the
// module of -m. Empty when it is no interpreter or runs neither.
func scriptOf(p *scan.Process) string {
	if len(p.Command) < 2 || !interpreter.MatchString(executableName(p)) {
		return ""
	}
	for i := 1; i < len(p.Command); i++ {
		word := p.Command[i]
		switch {
		case word == "-m" && i+1 < len(p.Command):
			return p.Command[i+1]
		case word == "-c" || word == "-e" || word == "-":
			return ""
		case word == "-W" || word == "-X":
			i++ // Python's flags with a value
		case strings.HasPrefix(word, "/dev/fd/"):
			return "" // a pipe, not a file with a name
		case !strings.HasPrefix(word, "-"):
			return baseName(word)
		}
	}
	return ""
}

// programName is what a person calls the process: the script of an
// interpreter, else the executable.
func programName(p *scan.Process) string {
	name := executableName(p)
	if script := scriptOf(p); script != "" {
		name = script
	}
	if name == "" {
		name = "process"
	}
	return shown(name)
}

// commandText is the command line, the executable without its folder; a
// process without one has its name in brackets, as in ps.
func commandText(p *scan.Process) string {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return "[" + shown(p.Name) + "]"
	}
	words := append([]string{baseName(p.Command[0])}, p.Command[1:]...)
	if first, rest, titled := strings.Cut(p.Command[0], " "); titled && len(p.Command) == 1 {
		words = []string{baseName(first), rest}
	}
	return shown(strings.Join(words, " "))
}

package naming

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe/scan"
)

// Base is the last part of a path, of either kind of system.
func Base(p string) string {
	if i := strings.LastIndexByte(p, '\\'); i >= 0 {
		p = p[i+1:]
	}
	return path.Base(filepath.ToSlash(p))
}

// interpreter matches programs whose name says little: what they run does.
var interpreter = regexp.MustCompile(
	`^(python|pypy|ruby|perl|node|bun|deno|java|Rscript|julia|lua|php|bash|sh|dash|zsh)[0-9.]*$`)

// Executable is the base name of a process's executable, as far as it is
// known; a login shell's leading "-" does not count.
func Executable(p *scan.Process) string {
	switch {
	case p.Executable != "":
		return strings.TrimSuffix(Base(p.Executable), ".exe")
	case len(p.Command) > 0 && p.Command[0] != "":
		word, _, _ := strings.Cut(p.Command[0], " ") // programs that write their title there
		return strings.TrimSuffix(strings.TrimPrefix(Base(word), "-"), ":")
	}
	return p.Name
}

// Script is what an interpreter runs: the base name of the script, or the
// module of -m. Empty when it is no interpreter or runs neither.
func Script(p *scan.Process) string {
	if len(p.Command) < 2 || !interpreter.MatchString(Executable(p)) {
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
			return Base(word)
		}
	}
	return ""
}

// Program is what a person calls the process: the script of an interpreter, else
// the executable.
func Program(p *scan.Process) string {
	name := Executable(p)
	if script := Script(p); script != "" {
		name = script
	}
	if name == "" {
		name = "process"
	}
	return plain.Shown(name)
}

// Command is the command line, the executable without its folder; a
// process without one has its name in brackets, as in ps.
func Command(p *scan.Process) string {
	if len(p.Command) == 0 || p.Command[0] == "" {
		return "[" + plain.Shown(p.Name) + "]"
	}
	words := append([]string{Base(p.Command[0])}, p.Command[1:]...)
	if first, rest, titled := strings.Cut(p.Command[0], " "); titled && len(p.Command) == 1 {
		words = []string{Base(first), rest}
	}
	return plain.Shown(strings.Join(words, " "))
}

// Running is what a person calls a process of this machine, empty when it has
// ended already.
func Running(pid int) string {
	p, err := scan.One("", pid)
	if err != nil {
		return ""
	}
	return Program(&p)
}

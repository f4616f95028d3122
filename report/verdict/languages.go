package verdict

import (
	"path"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// language is one whose objects gpumem does not see, and what tells of them.
type language struct {
	files []string // how the files begin whose code fills its memory
	next  string
}

// languages have tools of their own for what their programs keep: Node.js 12's
// --heapsnapshot-signal, Ruby's objspace, the JDK's jcmd.
var languages = [...]language{
	{[]string{"node", "libnode"}, "look for what JavaScript keeps: start the program with " +
		"`node --heapsnapshot-signal=SIGUSR2`, send it that signal twice, and compare the two snapshots in the " +
		"memory panel of Chrome's developer tools"},
	{[]string{"libruby", "ruby"}, "look for what Ruby keeps: require 'objspace', call " +
		"ObjectSpace.trace_object_allocations_start at first and ObjectSpace.dump_all later, which has the line of " +
		"each object that lives"},
	{[]string{"php", "libphp"}, "look for what PHP keeps: a global or static array that only gets longer; " +
		"memory_get_usage() before and after each part tells which"},
	{[]string{"perl", "libperl"}, "look for what Perl keeps: a hash or an array that only gets longer; Devel::MAT " +
		"says who refers to what"},
	{[]string{"lua", "liblua"}, "look for what Lua keeps: a table that only gets longer; collectgarbage(\"count\") " +
		"before and after each part tells which"},
	{[]string{"libjvm"}, "look for what Java keeps: `jcmd PID GC.class_histogram`, twice, says which classes have " +
		"more and more objects"},
}

// runsV8 reports whether a process is one of Node's or Deno's, by whose code filled its
// memory, or where nobody looked by its command.
func runsV8(p *series.Process) bool {
	words := []string{filledBy(p)}
	for _, e := range p.Events.About(p.PID) {
		if e.Kind == record.KindProcess && e.PID == p.PID {
			command, _, _ := strings.Cut(e.Name, " ")
			words = append(words, path.Base(command))
		}
	}
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "node" || w == "nodejs" || w == "deno" || strings.HasPrefix(w, "libnode")
	})
}

// languageNext is what to do where a language's code filled most of what came; empty of
// another.
func languageNext(s *settled) string {
	library := filledBy(&s.Examined.Process)
	for _, l := range languages {
		begins := func(file string) bool { return strings.HasPrefix(library, file) }
		if library != "" && slices.ContainsFunc(l.files, begins) {
			return l.next
		}
	}
	return ""
}

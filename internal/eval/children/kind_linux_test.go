package children

import (
	"regexp"
	"strings"
)

// kind is a kind of child: a command, and what may differ when it runs under
// gpumem.
type kind struct {
	// name says what the child is.
	name string
	// Exactly one of these is the child: a command, a script for sh, a script
	// for bash, code for Python, or an outer script. In an outer script `run
	// COMMAND…` is the child; the script around it is not traced.
	argv                []string
	sh, bash, py, outer string

	stdin string            // what the child reads; empty: end of file at once
	keys  []key             // with these the child has a terminal
	job   bool              // the child leads its process group, as a job of an interactive shell
	env   []string          // variables beside the usual few
	files map[string]string // files in its working directory; a name that ends in ! is executable
	needs []string          // commands that scripts/test.sh installs
	maybe []string          // commands that the machine has or has not

	rules   []rule       // what makes two runs comparable
	differs []difference // what gpumem changes, with reasons
	alone   bool         // runs by itself: it measures or loads the machine
}

// key is what is typed once the terminal has shown a text since the last. A text that
// is a whole line has its end: what is typed before it is echoed within the line.
type key struct{ after, typed string }

// rule replaces in both records what differs between any two runs.
type rule struct {
	why   string // what it is that differs by nature
	from  *regexp.Regexp
	to    string
	order bool // the lines of a stream come in any order
	drop  bool // lines that match are left out
}

// difference is a declared difference: lines that only one of the records has.
type difference struct {
	why string
	// lines matches the lines, each with a sign before it: "-" for lines of the
	// bare run alone, "+" for those of the run under gpumem.
	lines *regexp.Regexp
}

func replace(why, from, to string) rule {
	return rule{why: why, from: regexp.MustCompile(from), to: to}
}

func differs(why, lines string) difference {
	return difference{why: why, lines: regexp.MustCompile(lines)}
}

func without(why, lines string) rule {
	return rule{why: why, from: regexp.MustCompile(lines), drop: true}
}

// The rules that several rows name.
var (
	pids          = replace("process identifiers, which bash pads", ` *\b[0-9]{2,7}\b`, " PID")
	addresses     = replace("addresses are random", `0x[0-9a-f]{4,}`, "ADDRESS")
	durations     = replace("the clock", `[0-9]+[.:][0-9]+ ?(m?s|seconds)?\b`, "TIME")
	whichTerminal = replace("each run has a terminal of its own", `/dev/pts/[0-9]+`, "/dev/pts/N")
	anyOrder      = rule{why: "processes that run at once write in any order", order: true}
)

// apply makes a record comparable.
func (r rule) apply(record []string) []string {
	out := make([]string, 0, len(record))
	for _, line := range record {
		if r.drop && r.from.MatchString(line) {
			continue
		}
		if r.from != nil {
			line = r.from.ReplaceAllString(line, r.to)
		}
		out = append(out, line)
	}
	if r.order {
		sortStreams(out)
	}
	return out
}

// verdict holds two records against each other: undeclared is what differs
// without a declaration, untrue the declarations that no line bears out.
func (k *kind) verdict(bare, traced []string) (undeclared []string, untrue []difference) {
	shown := make([]bool, len(k.differs))
	for _, line := range diff(k.comparable(bare), k.comparable(traced)) {
		declared := false
		for i, d := range k.differs {
			if d.lines.MatchString(line) {
				shown[i], declared = true, true
			}
		}
		if !declared {
			undeclared = append(undeclared, line)
		}
	}
	for i, d := range k.differs {
		if !shown[i] {
			untrue = append(untrue, d)
		}
	}
	return undeclared, untrue
}

func (k *kind) comparable(record []string) []string {
	for _, r := range k.rules {
		record = r.apply(record)
	}
	return record
}

// command is the child's command line, without gpumem.
func (k *kind) command() []string {
	switch {
	case k.outer != "":
		return []string{"bash", "-c", k.outer}
	case k.sh != "":
		return []string{"sh", "-c", k.sh}
	case k.bash != "":
		return []string{"bash", "-c", k.bash}
	case k.py != "":
		return []string{"python3", "-c", strings.TrimPrefix(k.py, "\n")}
	}
	return k.argv
}

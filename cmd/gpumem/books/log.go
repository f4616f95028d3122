package books

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/importer"
	"github.com/gpumem/gpumem/tracer/record"
)

// LogFlags name the saved logs that `gpumem dump` reads instead of asking.
type LogFlags struct {
	log, traces string
}

// Add defines the flags.
func (f *LogFlags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.log, "log", "",
		"list the leaked, doubly freed and resized buffers of a server's saved output")
	flags.StringVar(&f.traces, "traces", "",
		"with --log, the stack traces of the client (TT_ALLOC_STACK_TRACE=1), to join to the buffers")
}

// On reports whether there is a log to read.
func (f *LogFlags) On() bool { return f.log != "" || f.traces != "" }

// How many buffers of a list are printed: of the leaked so many a device, as
// tt-metal's analyser does. JSON has all.
const (
	shownLeaked = 10
	shownOthers = 20
)

// Check refuses stack traces without a log.
func (f *LogFlags) Check() error {
	if f.log == "" {
		return usage.Errorf("--traces: needs --log, the server's output; gpumem report reads a log of " +
			"stack traces alone")
	}
	return nil
}

// Print prints what saved logs say of their buffers, as JSON or as text. What they lack
// goes to warnings.
func (f *LogFlags) Print(out, warnings io.Writer, asJSON bool) error {
	books, err := readLogged(f.log, importer.ReadBooks)
	if err != nil {
		return err
	}
	known := -1
	if f.traces != "" {
		stacks, err := readLogged(f.traces, importer.ReadStacks)
		if err != nil {
			return err
		}
		known = books.Join(stacks)
	}
	for _, w := range books.Warnings {
		fmt.Fprintf(warnings, "gpumem: warning: %s\n", w.String())
	}
	if asJSON {
		return plain.WriteJSON(out, books)
	}
	_, err = io.WriteString(out, loggedText(books, known))
	return err
}

// readLogged opens a saved log and reads it.
func readLogged[T any](path string, read func(from io.Reader, name string) (T, error)) (T, error) {
	var none T
	file, err := record.OpenInput(path)
	if err != nil {
		return none, usage.Absent(err, path,
			"give the saved output of an allocation server, or of its clients")
	}
	defer file.Close()
	return read(file, path)
}

// loggedText is the books for people. known is how many leaked buffers have a
// stack; negative without a log of stacks.
func loggedText(b *importer.Books, known int) string {
	var t strings.Builder
	fmt.Fprintf(&t, "History: %d buffers, %d balanced, %d leaked, %d double-freed, %d of changing size\n",
		b.Unique, b.Balanced, len(b.Leaked), len(b.DoubleFreed), len(b.Resized))
	if b.Unknown > 0 {
		fmt.Fprintf(&t, "%s of buffers that the log never saw allocated\n",
			units.Counted(int64(b.Unknown), "free", "frees"))
	}
	if b.Forgotten > 0 {
		fmt.Fprintf(&t, "⚠ %d events are of buffers there was no room for: they are not in these numbers\n",
			b.Forgotten)
	}
	if known >= 0 {
		fmt.Fprintf(&t, "Stack traces: of %d of %d leaked buffers\n", known, len(b.Leaked))
	}
	list(&t, "Leaked buffers (allocations > frees)", b.Leaked, shownLeaked, true)
	list(&t, "Double-freed buffers (frees > allocations)", b.DoubleFreed, shownOthers, false)
	list(&t, "Buffers of changing size", b.Resized, shownOthers, false)
	return t.String()
}

// list prints buffers, the first most of them, or of each device.
func list(t *strings.Builder, title string, all []importer.PastBuffer, most int, eachDevice bool) {
	fmt.Fprintf(t, "%s: %d\n", title, len(all))
	shown, device, left := 0, -1, 0
	for i := range all {
		p := &all[i]
		if eachDevice && p.Device != device {
			device, shown = p.Device, 0
		}
		if shown++; shown > most {
			left++
			continue
		}
		pastText(t, p)
	}
	if left > 0 {
		fmt.Fprintf(t, "  and %d more (--json has all)\n", left)
	}
}

func pastText(t *strings.Builder, p *importer.PastBuffer) {
	fmt.Fprintf(t, "  Device %d: Buffer %s: %s of %s, allocated %s, freed %s (PID %d", p.Device, p.ID,
		plain.Size(int64(p.Size)), plain.Shown(p.Memory), times(p.Allocs), times(p.Frees), p.PID)
	if p.Died {
		t.WriteString(", which ended with it")
	}
	t.WriteString(")\n")
	if len(p.Sizes) > 1 {
		var sizes []string
		for _, s := range p.Sizes {
			sizes = append(sizes, fmt.Sprint(s))
		}
		fmt.Fprintf(t, "      sizes: %s bytes\n", strings.Join(sizes, ", "))
	}
	var last []string
	for _, e := range p.Last {
		last = append(last, fmt.Sprintf("%s in line %d", e.What, e.Line))
	}
	fmt.Fprintf(t, "      last: %s\n", strings.Join(last, ", "))
	for _, s := range [...]struct {
		what   string
		frames []string
	}{{"allocated at", p.Allocated}, {"freed at", p.Freed}} {
		if len(s.frames) > 0 {
			fmt.Fprintf(t, "      %s:\n", s.what)
		}
		for _, f := range s.frames {
			fmt.Fprintf(t, "        %s\n", plain.Shown(f))
		}
	}
}

// times is how often something happened.
func times(n uint64) string { return units.Counted(int64(n), "time", "times") }

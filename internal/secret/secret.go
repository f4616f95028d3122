package secret

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Mask stands for a value that was taken out.
const Mask = "***"

// Bounds of what a Tally keeps.
const (
	mostNames = 64
	longName  = 64 // bytes
)

// Tally counts what was masked. Its methods mask as the functions of the same
// names do. The zero value is ready to use, a nil Tally masks and counts
// nothing. It is not safe for concurrent use.
type Tally struct {
	values int64
	names  []string // in the order in which they came, each once
}

// Values is how many values were masked.
func (t *Tally) Values() int64 {
	if t == nil {
		return 0
	}
	return t.values
}

// Names are the names of what was masked, at most 64 of them: a variable, an
// option, or in words what a value was recognised as. They never hold a value.
// The caller must not change the slice.
func (t *Tally) Names() []string {
	if t == nil {
		return nil
	}
	return t.names
}

// Add takes in what another Tally counted.
func (t *Tally) Add(values int64, names []string) {
	if t == nil {
		return
	}
	t.values += values
	for _, name := range names {
		t.name(name)
	}
}

func (t *Tally) count(name string) {
	if t == nil {
		return
	}
	t.values++
	if len(name) > longName {
		name = strings.ToValidUTF8(name[:longName], "")
	}
	if name != "" && !slices.Contains(t.names, name) && len(t.names) < mostNames {
		t.name(Text(name)) // a name may have the shape of a secret itself
	}
}

func (t *Tally) name(name string) {
	if len(t.names) < mostNames && !slices.Contains(t.names, name) {
		t.names = append(t.names, name)
	}
}

// Text masks the secrets in a text: a message, a path, or a command line as one
// string. It returns s itself when there are none.
func Text(s string) string { return (*Tally)(nil).Text(s) }

// Args masks the secrets in a command line. It returns args itself when there
// are none, and never changes it.
func Args(args []string) []string { return (*Tally)(nil).Args(args) }

// mostPasses bounds how often a text is masked until nothing is left to mask.
// Two do for whatever a program would write.
const mostPasses = 8

// Text is as the function Text.
func (t *Tally) Text(s string) string { return t.settle(s, false) }

// settle masks s until masking it once more would change nothing. A text that
// does not settle is masked whole.
func (t *Tally) settle(s string, whole bool) string {
	for range mostPasses {
		sc := scanner{s: s, whole: whole}
		sc.scan()
		if len(sc.spans) == 0 { // a name may have led past a shape
			sc = scanner{s: s, shapes: true}
			sc.scan()
		}
		if len(sc.spans) == 0 {
			return s
		}
		s = sc.masked(t)
		t = nil // what a second pass finds is part of what was counted
	}
	return Mask
}

// Args is as the function Args.
func (t *Tally) Args(args []string) []string {
	out := args
	set := func(i int, value string) {
		if value == out[i] {
			return
		}
		if &out[0] == &args[0] {
			out = slices.Clone(args)
		}
		out[i] = value
	}
	context := command{}
	var awaited option
	for i, arg := range args {
		if from, to, ok := awaited.value(arg, 0, len(arg)); ok && !isMasked(arg[from:to]) {
			t.count(awaited.name)
			set(i, Line(arg[:from])+Mask+arg[to:])
			awaited = option{}
			continue
		}
		told := context.word(lastElement(arg))
		if at, name := context.glued(arg); at > 0 && !isMasked(arg[at:]) {
			t.count(name)
			set(i, arg[:at]+Mask)
			awaited = option{}
			continue
		}
		awaited = told
		if isOption(arg) || context.setting {
			awaited = context.option(arg)
		}
		set(i, t.settle(arg, i == 0 || !isScript(args[i-1])))
	}
	return out
}

func lastElement(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// isScript reports the option before the text of a shell's script.
func isScript(option string) bool {
	return len(option) > 1 && len(option) < 6 && option[0] == '-' && option[1] != '-' &&
		option[len(option)-1] == 'c'
}

// isOption reports a word that is the name of an option, without a value.
func isOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && nameEnd(word, 0) == len(word)
}

// Named masks the value of a variable or of an option by its name, or else the
// secrets in the value.
func (t *Tally) Named(name, value string) string {
	if g := gradeOf(name); g != plain && !isMasked(value) && g.masks(value) {
		t.count(name)
		return Mask
	}
	return t.settle(value, false)
}

// JSON masks the secrets in a JSON value: strings and numbers under names of
// secrets, and secrets in any string. It returns raw itself when there are none.
// What is no JSON is masked as text, which then is no JSON either.
func (t *Tally) JSON(raw []byte) []byte {
	if len(raw) == 0 {
		return raw
	}
	text := string(raw)
	sc := scanner{s: text}
	sc.scan()
	if len(sc.spans) == 0 && !sc.nested && bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // counts above 2^53 keep their digits
	var v any
	if d.Decode(&v) != nil {
		if len(sc.spans) == 0 {
			return raw
		}
		return []byte(t.Text(text))
	}
	own := &Tally{}
	v = own.value("", plain, v)
	out, err := json.Marshal(v)
	if own.values == 0 || err != nil {
		return raw
	}
	t.Add(own.values, own.names)
	return out
}

// value masks a decoded JSON value that stands under name.
func (t *Tally) value(name string, g grade, v any) any {
	switch v := v.(type) {
	case string:
		return t.leaf(name, g, v, v)
	case json.Number:
		return t.leaf(name, g, v.String(), v)
	case []any:
		for i := range v {
			v[i] = t.value(name, g, v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			under := gradeOf(k)
			if under == plain && g == strong {
				under = g // a password's own fields
			}
			out[t.Text(k)] = t.value(k, under, x)
		}
		return out
	}
	return v
}

func (t *Tally) leaf(name string, g grade, text string, v any) any {
	if g != plain && !isMasked(text) && g.masks(text) {
		t.count(name)
		return Mask
	}
	if s, ok := v.(string); ok {
		return t.Text(s)
	}
	return v
}

// isMasked reports a value that needs no masking: none, or one masked before.
func isMasked(value string) bool {
	return strings.Trim(value, "*") == ""
}

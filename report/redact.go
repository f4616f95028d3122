package report

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Redactor takes out of a run what names a person, a machine, a program or its
// parts: every word that is not in a fixed list of public ones (units, this
// project's vocabulary, makers of GPUs, plain words of warnings) is replaced by
// "x" and ten hexadecimal digits, the beginning of its HMAC-SHA256 under the
// salt. Numbers that measure stay: bytes, counts, times, lines, versions. A number
// that stands where a name does is replaced as a word: a part of a path (a folder
// below home, else of three digits and more), what stands behind user, account,
// password and their like or beside an at sign, addresses, UUIDs, what is grouped
// as cards and telephones are, and digits behind a v that are no version. The
// same word gives the same replacement wherever it stands, and in other runs
// under the same salt; who does not have the salt cannot test a guess. The
// environment is left out whole, and with it a cause that rests on it alone. It is safe for concurrent use.
type Redactor struct {
	salt   []byte
	public map[string]bool
}

// NewRedactor makes a Redactor; it keeps salt. public are further words that
// may stay, such as the names of bundled workloads.
func NewRedactor(salt []byte, public ...string) *Redactor {
	r := &Redactor{salt: salt, public: map[string]bool{}}
	for _, list := range [...]string{publicWords, publicKeys, publicNames, publicLibraries} {
		for _, w := range strings.Fields(list) {
			r.public[strings.ToLower(w)] = true
		}
	}
	for _, c := range record.Columns() {
		if c.Public {
			r.public[c.Name] = true
		}
	}
	for _, w := range public {
		r.public[strings.ToLower(w)] = true
	}
	return r
}

// RedactedNote is the warning that a redacted run carries, so that its reader
// knows what the replacements are.
const RedactedNote = "names, paths, the command line and the environment are taken out: x and ten digits " +
	"stand for a word"

// Run is a redacted copy of run. It does not change run; columns of numbers are
// shared. Warnings of the reading become events, because the files that they
// speak of are written anew. The path is left out.
func (r *Redactor) Run(run *record.Run) *record.Run {
	out := &record.Run{Meta: r.meta(&run.Meta), Samples: r.samples(run.Samples)}
	for i := range run.Events {
		out.Events = append(out.Events, r.event(&run.Events[i]))
	}
	last := 0.0 // events are in the order of their times
	if n := len(run.Events); n > 0 {
		last = run.Events[n-1].TMs
	}
	note := func(text string) {
		out.Events = append(out.Events, record.Event{TMs: last, Kind: record.KindWarning, Text: text})
	}
	for _, w := range run.Warnings {
		w.File, w.Column, w.Text = r.text(base(w.File)), r.column(w.Column), r.text(w.Text)
		note(warningText(w))
	}
	note(RedactedNote)
	return out
}

func (r *Redactor) meta(m *record.Meta) record.Meta {
	out := *m
	out.Command = r.command(m)
	if m.Host != "" {
		out.Host = "host-" + r.token(m.Host)
	}
	out.Env = nil
	out.Workload, out.Signal = r.text(m.Workload), r.text(m.Signal)
	out.OS, out.Driver, out.Device = r.text(m.OS), r.text(m.Driver), r.device(m.Device)
	out.Machine = r.machine(m.Machine)
	if m.Masked != nil {
		out.Masked = &record.Masked{Values: m.Masked.Values}
		for _, name := range m.Masked.Names {
			out.Masked.Names = append(out.Masked.Names, r.text(name))
		}
	}
	out.Versions, out.Flags = r.texts(m.Versions), r.texts(m.Flags)
	if m.CapacityBytes != nil {
		out.CapacityBytes = map[string]int64{}
		for _, k := range slices.Sorted(maps.Keys(m.CapacityBytes)) {
			out.CapacityBytes[r.text(k)] = m.CapacityBytes[k]
		}
	}
	return out
}

// machine keeps what many machines have in common. The moment at which one was
// started is its own.
func (r *Redactor) machine(m *record.Machine) *record.Machine {
	if m == nil {
		return nil
	}
	out := *m
	out.Booted = nil
	out.Platform, out.Kernel, out.CPU = r.text(m.Platform), r.text(m.Kernel), r.text(m.CPU)
	out.Virtualization = r.text(m.Virtualization)
	return &out
}

// command is one replacement for the whole command line; that of a bundled
// workload stays as far as its words are public.
func (r *Redactor) command(m *record.Meta) []string {
	if len(m.Command) == 0 {
		return nil
	}
	if !r.public[strings.ToLower(m.Workload)] {
		return []string{"program-" + r.token(strings.Join(m.Command, "\x00"))}
	}
	out := make([]string, len(m.Command))
	for i, word := range m.Command {
		out[i] = r.text(word)
	}
	return out
}

func (r *Redactor) texts(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out[r.text(k)] = r.text(m[k])
	}
	return out
}

func (r *Redactor) samples(s *record.Samples) *record.Samples {
	if s == nil {
		return nil
	}
	names, cols := make([]string, len(s.Names())), make([][]float64, len(s.Names()))
	for i, name := range s.Names() {
		names[i], cols[i] = r.column(name), s.Column(name)
	}
	return record.NewSamples(names, cols)
}

// column is the name of a column; one that gpumem does not know is the
// program's own and is replaced whole.
func (r *Redactor) column(name string) string {
	base, device, each := strings.Cut(name, "@")
	if name == "" || r.public[base] && (!each || isNumber(device)) {
		return name
	}
	return "column_" + r.token(name)
}

func (r *Redactor) event(e *record.Event) record.Event {
	out := *e
	out.Kind, out.Name, out.At = r.text(e.Kind), r.name(e), r.text(e.At)
	out.Text = r.text(e.Text)
	if e.Receipt != nil {
		receipt := *e.Receipt
		receipt.Action = r.text(receipt.Action)
		receipt.Account = record.Account(r.text(string(receipt.Account)))
		out.Receipt = &receipt
	}
	out.Sites = slices.Clone(e.Sites)
	for i := range out.Sites {
		out.Sites[i].Site, out.Sites[i].Caller = r.text(out.Sites[i].Site), r.text(out.Sites[i].Caller)
	}
	out.Holders = slices.Clone(e.Holders)
	for i := range out.Holders {
		h := &out.Holders[i]
		h.Kind = verdict.HeldKind(*h) // the words that tell it may go
		h.Path, h.Graph = r.text(h.Path), r.text(h.Graph)
		h.Filled, h.Emptied, h.Taken = r.text(h.Filled), r.text(h.Emptied), r.text(h.Taken)
	}
	if e.FirstTouch != nil {
		touch := *e.FirstTouch
		touch.Judgement, touch.Owners = r.text(touch.Judgement), slices.Clone(touch.Owners)
		for i := range touch.Owners {
			touch.Owners[i].Library = r.text(touch.Owners[i].Library)
		}
		touch.Places = slices.Clone(touch.Places)
		for i := range touch.Places {
			touch.Places[i].Site = r.text(touch.Places[i].Site)
		}
		out.FirstTouch = &touch
	}
	out.Detail = r.detail(e.Detail)
	return out
}

// name keeps of the name of a phase the word by which the verdict knows that the
// program sets itself up in it.
func (r *Redactor) name(e *record.Event) string {
	word, setup := record.SetupWord(e.Name)
	if name := strings.ToLower(e.Name); e.Kind == record.KindPhase && setup && !r.public[name] {
		return word + "-" + r.token(name[len(word):])
	}
	return r.text(e.Name)
}

// detail is JSON with its strings and names redacted; what is no JSON is left
// out.
func (r *Redactor) detail(detail json.RawMessage) json.RawMessage {
	if len(detail) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(detail))
	d.UseNumber() // counts above 2^53 keep their digits
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	text, err := json.Marshal(r.value(v))
	if err != nil {
		return nil
	}
	return text
}

func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			out[r.text(k)] = r.value(x)
		}
		return out
	}
	return v
}

// text replaces each word of s that is not public. Marks between words stay,
// except those outside of ASCII, which a name may be made of.
func (r *Redactor) text(s string) string {
	if len(s) > maxRedacted {
		s = s[:maxRedacted]
	}
	s = r.numbers(s)
	var b strings.Builder
	for len(s) > 0 {
		n := strings.IndexFunc(s, func(c rune) bool { return !inWord(c) })
		if n < 0 {
			n = len(s)
		}
		if n > 0 {
			b.WriteString(r.word(s[:n]))
			s = s[n:]
			continue
		}
		n = strings.IndexFunc(s, inWord)
		if n < 0 {
			n = len(s)
		}
		for _, c := range s[:n] {
			if c == '…' || c >= ' ' && c < unicode.MaxASCII {
				b.WriteRune(c)
			}
		}
		s = s[n:]
	}
	return b.String()
}

// maxRedacted bounds what is kept of a string, in bytes.
const maxRedacted = 4 << 10

func inWord(c rune) bool {
	return c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c) || c >= 0x80 && c != '…'
}

func (r *Redactor) word(w string) string {
	if len(w) == 1 || r.public[strings.ToLower(w)] || measure.MatchString(w) {
		return w
	}
	return r.token(w)
}

// device is the name of a device, of which also the model stays.
func (r *Redactor) device(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		at := model.FindStringIndex(s)
		if at == nil {
			at = []int{len(s), len(s)}
		}
		b.WriteString(r.text(s[:at[0]]) + s[at[0]:at[1]])
		s = s[at[1]:]
	}
	return b.String()
}

func isNumber(s string) bool {
	return s != "" && len(s) < 6 && strings.Trim(s, "0123456789") == ""
}

// token stands for a word. Forty bits tell the words of a run apart.
func (r *Redactor) token(w string) string {
	mac := hmac.New(sha256.New, r.salt)
	mac.Write([]byte(w))
	return "x" + hex.EncodeToString(mac.Sum(nil))[:10]
}

package record

import (
	"maps"
	"slices"

	"github.com/gpumem/gpumem/internal/secret"
)

// Masked says what was taken for a secret in a run and replaced by three stars:
// in how many places, and the names of at most 64 such values (variables, options,
// or what a value was recognised as). It never holds a value.
type Masked struct {
	Values int64    `json:"values"`
	Names  []string `json:"names,omitempty"`
}

// tally begins with what was masked before.
func (m *Meta) tally() *secret.Tally {
	t := &secret.Tally{}
	if m.Masked != nil {
		t.Add(m.Masked.Values, m.Masked.Names)
	}
	return t
}

// told puts into run.json what was masked.
func (m *Meta) told(t *secret.Tally) {
	if t.Values() > 0 {
		m.Masked = &Masked{Values: t.Values(), Names: slices.Clone(t.Names())}
	}
}

// Mask masks whatever looks like a secret in m, and counts it in m.Masked.
// What a Writer or Open gave is masked already. Slices and maps that m shares
// with others stay as they are.
func (m *Meta) Mask() {
	t := m.tally()
	m.mask(t)
	m.told(t)
}

func (m *Meta) mask(t *secret.Tally) {
	m.Command = t.Args(m.Command)
	for _, s := range [...]*string{&m.Workload, &m.Host, &m.OS, &m.Driver, &m.Device, &m.Signal} {
		*s = t.Text(*s)
	}
	m.Env, m.Flags = maskNamed(t, m.Env), maskNamed(t, m.Flags)
	m.Versions = maskTexts(t, m.Versions)
	m.CapacityBytes = maskKeys(t, m.CapacityBytes)
}

// maskNamed masks the values of variables or flags by their names.
func maskNamed(t *secret.Tally, in map[string]string) map[string]string {
	return maskMap(t, in, t.Named)
}

// maskTexts masks values that no name says anything of: versions.
func maskTexts(t *secret.Tally, in map[string]string) map[string]string {
	return maskMap(t, in, func(_, value string) string { return t.Text(value) })
}

// maskMap masks keys and values, in the order of the keys: names are told so.
func maskMap(t *secret.Tally, in map[string]string, mask func(name, value string) string) map[string]string {
	if in == nil {
		return nil
	}
	out := make(map[string]string, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		value := mask(name, in[name])
		out[t.Text(name)] = value
	}
	return out
}

func maskKeys(t *secret.Tally, in map[string]int64) map[string]int64 {
	if in == nil {
		return nil
	}
	out := make(map[string]int64, len(in))
	for name, value := range in {
		out[t.Text(name)] = value
	}
	return out
}

// MaskCommand is the command line args without what looks like a secret, counted
// as what the Writer masks itself. A command line is masked word by word only
// before it is joined to one string.
func (w *Writer) MaskCommand(args []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.masked.Args(args)
}

// Mask masks whatever looks like a secret in e. Slices that e shares with
// others stay as they are.
func (e *Event) Mask() { e.mask(nil) }

func (e *Event) mask(t *secret.Tally) {
	for _, s := range [...]*string{&e.Kind, &e.Name, &e.At, &e.Text} {
		*s = t.Text(*s)
	}
	if r := e.Receipt; r != nil {
		masked := *r
		masked.Action, masked.Account = t.Text(r.Action), Account(t.Text(string(r.Account)))
		e.Receipt = &masked
	}
	e.Sites = maskList(t, e.Sites, func(s *Site) *string { return &s.Site })
	e.Sites = maskList(t, e.Sites, func(s *Site) *string { return &s.Caller })
	e.Holders = maskList(t, e.Holders, func(h *Holder) *string { return &h.Path })
	if f := e.FirstTouch; f != nil {
		masked := *f
		masked.Judgement = t.Text(f.Judgement)
		masked.Owners = maskList(t, f.Owners, func(o *TouchOwner) *string { return &o.Library })
		masked.Places = maskList(t, f.Places, func(p *TouchPlace) *string { return &p.Site })
		e.FirstTouch = &masked
	}
	e.Detail = t.JSON(e.Detail)
}

// maskList masks one string of each element, in a copy when any changes.
func maskList[T any](t *secret.Tally, in []T, field func(*T) *string) []T {
	out := in
	for i := range in {
		was := *field(&in[i])
		masked := t.Text(was)
		if masked == was {
			continue
		}
		if &out[0] == &in[0] {
			out = slices.Clone(in)
		}
		*field(&out[i]) = masked
	}
	return out
}

// Mask masks whatever looks like a secret in the run and counts it in
// run.Meta.Masked. Open and the importers do so to what they read.
func (run *Run) Mask() {
	t := run.Meta.tally()
	run.Meta.mask(t)
	for i := range run.Events {
		run.Events[i].mask(t)
	}
	for i := range run.Warnings {
		run.Warnings[i].Text = t.Text(run.Warnings[i].Text)
	}
	run.Meta.told(t)
}

package looking

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// mostRows bounds the rows of a table: the rest is in the JSON.
const mostRows = 12

// Text is the look for people: one sentence, then tables. since is nil without an
// earlier look.
func (l *Look) Text(since *Since) string {
	var b strings.Builder
	plain.Wrap(&b, "", "", l.sentence(since))
	if since != nil {
		since.tables(&b)
	}
	l.tables(&b)
	l.notes(&b)
	return b.String()
}

// sentence is the answer.
func (l *Look) sentence(since *Since) string {
	who := fmt.Sprintf("%s (process %d)", plain.Shown(l.Program), l.PID)
	if since != nil {
		return who + " " + since.answer()
	}
	a := l.Accounts
	switch {
	case a.Device != nil && a.Live != nil:
		text := fmt.Sprintf("%s holds %s of device memory: %s in use by the program", who,
			plain.Size(*a.Device), plain.Size(*a.Live))
		if a.Idle != nil {
			text += fmt.Sprintf(", %s idle in its pool", plain.Size(*a.Idle))
		}
		return text + l.most() + "."
	case a.Live != nil:
		return fmt.Sprintf("%s has %s of device memory in use%s.", who, plain.Size(*a.Live), l.most())
	case a.Device != nil && *a.Device > 0:
		return fmt.Sprintf("%s holds %s of device memory; what it is used for cannot be seen from outside.",
			who, plain.Size(*a.Device))
	case a.Host != nil:
		return fmt.Sprintf("%s holds %s of host memory%s.", who, plain.Size(*a.Host), l.most())
	}
	return who + " does not tell what it holds."
}

// most names the largest holder, where one is known.
func (l *Look) most() string {
	if len(l.Holders) == 0 {
		return ""
	}
	return fmt.Sprintf("; its largest holder is %s (%s)", plain.Shown(l.Holders[0].Path),
		plain.Size(l.Holders[0].Bytes))
}

// answer says what grew most.
func (s *Since) answer() string {
	over := fmt.Sprintf("in %.1f s", s.Seconds)
	if s.Steps > 0 {
		over += ", " + units.Counted(int(s.Steps), "step", "steps")
	}
	var best *Growth
	for i, g := range s.Accounts {
		// The device's is the sum of three others.
		if g.Name != "device" && g.Change != nil && (best == nil || *g.Change > *best.Change) {
			best = &s.Accounts[i]
		}
	}
	if best == nil || *best.Change <= 0 {
		return "has not grown " + over + "."
	}
	text := fmt.Sprintf("has grown by %s %s %s", plain.Size(*best.Change), words(best.Name), over)
	// A holder that only one look has may have had another name at the other.
	both := slices.IndexFunc(s.Holders, func(g Growth) bool { return *g.Before > 0 && *g.Change > 0 })
	if both >= 0 {
		text += fmt.Sprintf("; of the holders, %s grew most (%s)", plain.Shown(s.Holders[both].Name),
			plain.Size(*s.Holders[both].Change))
	}
	return text + "."
}

// words says what an account is.
func words(account string) string {
	switch record.Account(account) {
	case record.AccountLive:
		return "of device memory in use"
	case record.AccountIdle:
		return "of idle memory in its pool"
	case record.AccountUntracked:
		return "of device memory outside of any known pool"
	case record.AccountHost:
		return "of host memory"
	}
	return "of device memory"
}

func (s *Since) tables(b *strings.Builder) {
	for _, t := range [...]struct {
		title string
		list  []Growth
		name  func(string) string
	}{{"SINCE", s.Accounts, titled}, {"CATEGORY", s.Categories, plain.Shown},
		{"HOLDER", s.Holders, plain.Shown}, {"SITE", s.Sites, plain.Shown}} {
		table := plain.NewTable(plain.Right("CHANGE"), plain.Right("NOW"), plain.Left(t.title))
		for _, g := range t.list[:min(len(t.list), mostRows)] {
			table.Add(signed(g.Change), size(g.Bytes), t.name(g.Name))
		}
		write(b, table)
	}
}

// titled is an account as the table of a look without an earlier one begins its row.
func titled(account string) string {
	if account == "device" || record.Account(account) == record.AccountHost {
		return account + " memory"
	}
	return account
}

func (l *Look) tables(b *strings.Builder) {
	table := plain.NewTable(plain.Right("BYTES"), plain.Left("ACCOUNT"))
	for _, a := range l.Accounts.named() {
		if a.Bytes != nil {
			table.Add(size(a.Bytes), a.Name+explained(a.Name))
		}
	}
	write(b, table)
	l.pool(b)
	table = plain.NewTable(plain.Right("BYTES"), plain.Left(l.categoriesTitle()))
	for _, name := range byBytes(l.Categories) {
		bytes := l.Categories[name]
		table.Add(size(&bytes), plain.Shown(name))
	}
	write(b, table)
	l.holders(b)
	table = plain.NewTable(plain.Right("BYTES"), plain.Right("COUNT"), plain.Left("SITE"))
	for _, s := range l.Sites[:min(len(l.Sites), mostRows)] {
		table.Add(size(&s.Bytes), fmt.Sprint(s.Count), plain.Shown(s.Site))
	}
	write(b, table)
}

// holders are who holds what, with the lines that fill them, where these are known.
func (l *Look) holders(b *strings.Builder) {
	shown := l.Holders[:min(len(l.Holders), mostRows)]
	columns := []plain.Column{plain.Right("BYTES"), plain.Right("COUNT"), plain.Left("HOLDER")}
	filled := slices.ContainsFunc(shown, func(h record.Holder) bool { return h.Filled != "" })
	if filled {
		columns = append(columns, plain.Left("FILLED AT"))
	}
	table := plain.NewTable(columns...)
	for _, h := range shown {
		path := plain.Shown(h.Path)
		if h.Graphs {
			path += ", each with its autograd graph"
		}
		row := []string{size(&h.Bytes), fmt.Sprint(h.Count), path}
		if filled {
			row = append(row, plain.Shown(h.Filled))
		}
		table.Add(row...)
	}
	write(b, table)
}

// explained says what an account is, where its name does not.
func explained(account string) string {
	switch record.Account(account) {
	case record.AccountLive:
		return ": in use by the program"
	case record.AccountIdle:
		return ": kept by its pool, referenced by nobody"
	case record.AccountUntracked:
		return ": the driver's own, and what lies outside of any known pool"
	case record.AccountHost:
		return " memory"
	}
	return " memory in all, as the driver says"
}

func (l *Look) categoriesTitle() string {
	if len(l.Devices) > 1 {
		return fmt.Sprintf("IN USE ON DEVICE %d", l.CategoriesDevice)
	}
	return "IN USE"
}

// pool says how the idle memory lies.
func (l *Look) pool(b *strings.Builder) {
	if l.Pool == nil || l.Pool.Idle == 0 {
		return
	}
	plain.Wrap(b, "\n", "", fmt.Sprintf("Of the pool's %s idle, %s are whole segments, free for any "+
		"request; %s lie between blocks in use. The largest idle block is %s.", plain.Size(l.Pool.Idle),
		plain.Size(l.Pool.Usable), plain.Size(l.Pool.Fragmented), plain.Size(l.Pool.Largest)))
}

// notes say what is missing, and what stays.
func (l *Look) notes(b *strings.Builder) {
	var list []string
	if l.Outside != "" {
		list = append(list, "looked at from outside only: "+l.Outside)
	}
	if l.Incomplete {
		list = append(list, "the search for categories stopped before it had seen everything")
	}
	if len(l.Stays) > 0 {
		list = append(list, "the agent has left the program; still in it: "+strings.Join(l.Stays, "; "))
	}
	for i, text := range append(list, l.Warnings...) {
		if i == 0 {
			b.WriteString("\n")
		}
		plain.Wrap(b, "note: ", "      ", text)
	}
}

func write(b *strings.Builder, table *plain.Table) {
	if !table.Empty() {
		b.WriteString("\n")
		table.Write(b, "")
	}
}

func byBytes(m map[string]int64) []string {
	names := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(names, func(a, b string) int { return int(min(max(m[b]-m[a], -1), 1)) })
	return names
}

func size(v *int64) string {
	if v == nil {
		return plain.Dash
	}
	return plain.Size(*v)
}

func signed(v *int64) string {
	switch {
	case v == nil:
		return plain.Dash
	case *v > 0:
		return "+" + plain.Size(*v)
	case *v < 0:
		return "-" + plain.Size(-*v)
	}
	return "0"
}

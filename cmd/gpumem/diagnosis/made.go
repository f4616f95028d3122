package diagnosis

import (
	"cmp"
	"context"
	"slices"

	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/mapping"
	"github.com/gpumem/gpumem/probe/scan"
)

// composition is what the memory of a process is made of.
type composition struct {
	report mapping.Report
	err    error
}

// part is the mappings of one kind.
type part struct {
	kind   mapping.Kind
	usage  mapping.Usage
	groups []mapping.Group // of this kind, by resident bytes
}

// Compose asks what each process of the scan is made of, and what is known of it
// besides. The kernel walks the
// page tables for that, so it is done only for processes that somebody named,
// within a budget of time each.
func (d *Diagnosis) Compose(ctx context.Context) {
	d.made, d.about = map[int]composition{}, map[int]host.Process{}
	for i := range d.Scan.Processes {
		p := &d.Scan.Processes[i]
		if p.State == scan.Zombie {
			continue
		}
		completeDirty(p)
		r, err := mapping.Attribute(ctx, p.PID, mapping.Options{})
		d.made[p.PID] = composition{r, err}
		d.about[p.PID] = host.About(ctx, p.PID)
	}
}

// parts are the kinds that hold anything, by resident bytes.
func (c *composition) parts() []part {
	var list []part
	for kind, usage := range c.report.ByKind() {
		p := part{kind: kind, usage: usage}
		for _, g := range c.report.Groups {
			if g.Kind == kind && g.Name != "" && g.Usage.RSS > 0 {
				p.groups = append(p.groups, g)
			}
		}
		if usage.RSS > 0 || usage.Swap > 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b part) int {
		return cmp.Or(cmp.Compare(b.usage.RSS, a.usage.RSS), cmp.Compare(a.kind, b.kind))
	})
	return list
}

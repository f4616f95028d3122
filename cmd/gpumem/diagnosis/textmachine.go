package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/host"
)

// machine is what the machine has left, and who is dead.
func (t *page) machine() {
	s, m := t.d.Scan, t.d.Scan.Totals
	t.facts()
	t.line("  memory   %s, %s available", plain.Size(m.Memory), plain.Size(m.Available))
	switch {
	case m.SwapTotal == 0:
		t.line("  swap     none")
	case m.SwapTotal == probe.Unknown || m.SwapFree == probe.Unknown:
		t.line("  swap     %s", plain.Dash)
	default:
		t.line("  swap     %s, %s used", plain.Size(m.SwapTotal), plain.Size(m.SwapTotal-m.SwapFree))
	}
	if m.CgroupLimit == probe.Unknown {
		t.line("  cgroup   no limit known")
	} else {
		t.line("  cgroup   %s limit, %s used", plain.Size(m.CgroupLimit), plain.Size(m.CgroupUsage))
	}
	t.sensors()
	const most = 10
	zombies := s.Zombies()
	if len(zombies) == 0 {
		t.line("  zombies  none")
		return
	}
	var list []string
	for _, z := range zombies[:min(len(zombies), most)] {
		list = append(list, fmt.Sprintf("%d (%s, parent %d)", z.PID, plain.Shown(z.Name), z.Parent))
	}
	if len(zombies) > most {
		list = append(list, fmt.Sprintf("and %d more", len(zombies)-most))
	}
	plain.Wrap(&t.b, "  zombies  ", "           ", strings.Join(list, ", "))
}

// facts are what the machine is.
func (t *page) facts() {
	f := t.d.Machine
	if f == nil {
		return
	}
	var words []string
	for _, w := range []string{f.Platform, prefixed("kernel ", f.Kernel), f.CPU,
		prefixed("virtualization ", f.Virtualization)} {
		if w != "" {
			words = append(words, plain.Shown(w))
		}
	}
	if !f.Booted.IsZero() {
		words = append(words, "up "+plain.Age(t.d.Scan.At.Sub(f.Booted)))
	}
	if len(words) > 0 {
		plain.Wrap(&t.b, "  system   ", "           ", strings.Join(words, ", "))
	}
}

// prefixed is a value with a word before it, empty for none.
func prefixed(word, value string) string {
	if value == "" {
		return ""
	}
	return word + value
}

// sensors are the temperatures, the hottest first, as many as fit in a line.
func (t *page) sensors() {
	const most = 4
	list := slices.Clone(t.d.Sensors)
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b host.Sensor) int { return cmp.Compare(b.Celsius, a.Celsius) })
	var words []string
	for _, s := range list[:min(len(list), most)] {
		words = append(words, fmt.Sprintf("%s %.0f °C", plain.Shown(s.Name), s.Celsius))
	}
	if len(list) > most {
		words = append(words, fmt.Sprintf("and %d more", len(list)-most))
	}
	plain.Wrap(&t.b, "  sensors  ", "           ", strings.Join(words, ", "))
}

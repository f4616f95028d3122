package tui

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpumem/gpumem/internal/units"
)

// devicesPanel is the GPUs of the machine, a line each.
type devicesPanel struct {
	*styles
	frame   *Frame
	focused bool
	scroll  int
}

// Render implements the panel.
func (p devicesPanel) Render(w, h int) string {
	list, fields := p.frame.Machine, p.fields(w)
	if len(list) == 0 {
		return p.box(panelDevices, panelNames[panelDevices], p.focused,
			[]string{" none is known here; gpumem devices says why"}, w, h)
	}
	head, room := p.head(w, fields), max(h-2, 0)
	body := []string{p.paint(dim, head)}
	shown := scrolled(list, p.scroll, room)
	for i := range shown {
		body = append(body, p.line(&shown[i], len(list)-len(shown)+i, w, fields))
	}
	name := panelNames[panelDevices]
	if more := len(shown) - room; more > 0 {
		name += fmt.Sprintf(", %d more below", more)
	}
	return p.box(panelDevices, name, p.focused, body, w, h)
}

// barWidth is how many cells the bar of a device's memory takes.
const barWidth = 12

// fields are those that fit and that some device tells, the most important first;
// they stand in the order of this list.
func (p devicesPanel) fields(w int) []field[Device] {
	percent := func(x float64) string { return units.Percent(x) }
	all := []field[Device]{
		{"busy", 5, false, func(d *Device) string { return percent(d.Busy) }},
		{"memory", 20, false, memoryText},
		{"", barWidth, false, func(d *Device) string { return bar(d.Used/d.Total, barWidth) }},
		{"temp.", 6, false, func(d *Device) string { return unitText(d.Celsius, "°C") }},
		{"power", 12, false, powerText},
		{"clock", 9, false, func(d *Device) string { return unitText(d.MHz, "MHz") }},
		{"memory's", 9, false, func(d *Device) string { return unitText(d.MemoryMHz, "MHz") }},
	}
	const leastName = 12
	return fitting(all, p.frame.Machine, []int{1, 0, 3, 4, 5, 2, 6}, w-leastName-4, 2)
}

func (p devicesPanel) head(w int, fields []field[Device]) string {
	line := fit("    device", p.name(w, fields)+4)
	for _, f := range fields {
		line += "  " + right(f.head, f.width)
	}
	return line
}

// name is how wide the name may be.
func (p devicesPanel) name(w int, fields []field[Device]) int {
	for _, f := range fields {
		w -= f.width + 2
	}
	return max(w-4, 1)
}

func (p devicesPanel) line(d *Device, n, w int, fields []field[Device]) string {
	line := fmt.Sprintf(" %2d ", n) + fit(d.Name, p.name(w, fields))
	for _, f := range fields {
		text := right(f.text(d), f.width)
		if f.width == barWidth && f.head == "" {
			text = p.paint(live, text)
		}
		line += "  " + text
	}
	return line
}

// memoryText is what is used of what there is.
func memoryText(d *Device) string {
	switch {
	case !known(d.Total) && !known(d.Used):
		return units.Unknown
	case !known(d.Total):
		return units.Bytes(d.Used)
	}
	return units.Bytes(d.Used) + " of " + units.Bytes(d.Total)
}

func powerText(d *Device) string {
	if !known(d.Watts) || !known(d.LimitWatts) {
		return unitText(d.Watts, "W")
	}
	return fmt.Sprintf("%.0f of %.0f W", d.Watts, d.LimitWatts)
}

func unitText(x float64, unit string) string {
	if !known(x) {
		return units.Unknown
	}
	return fmt.Sprintf("%.0f %s", x, unit)
}

// bar is a share as a line of n cells, empty when it is unknown.
func bar(share float64, n int) string {
	if !known(share) || math.IsInf(share, 0) {
		return ""
	}
	full := int(math.Round(math.Min(math.Max(share, 0), 1) * float64(n)))
	return strings.Repeat("█", full) + strings.Repeat("─", n-full)
}

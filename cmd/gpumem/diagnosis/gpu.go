package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/probe/scan"
)

// gpuMemory is the devices and what they hold. With a title it stands alone.
func (t *page) gpuMemory(title string) {
	if title != "" {
		t.line("\n%s", t.bold(title))
	}
	s := t.d.Scan
	if t.d.GPUOff {
		t.line("  not looked at: --gpu none")
		return
	}
	t.devices()
	if !t.d.Chosen {
		t.uncharged()
		t.leftBehind()
	}
	for _, d := range s.Devices {
		for _, note := range d.Notes {
			plain.Wrap(&t.b, fmt.Sprintf("  device %d: ", d.Index), "    ", plain.Shown(note))
		}
	}
	for _, a := range t.d.Absent {
		plain.Wrap(&t.b, "  ", "    ", naming.Absent(a, false))
	}
}

// devices is a line a device: USED is PROCESSES, OTHER PIDS and NOT CHARGED.
func (t *page) devices() {
	if len(t.d.Scan.Devices) == 0 {
		return
	}
	table := plain.NewTable(
		plain.Right("DEVICE"), plain.Right("TOTAL"), plain.Right("USED"), plain.Right("RESERVED"),
		plain.Right("PROCESSES"),
		plain.Right("OTHER PIDS"), plain.Right("NOT CHARGED"), plain.Left("NAME"),
	)
	reserved := slices.ContainsFunc(t.d.Scan.Devices, func(d scan.Device) bool {
		return d.ReservedBytes != scan.Unknown
	})
	for _, d := range t.d.Scan.Devices {
		name := plain.Shown(naming.DeviceTitle(&d))
		other := plain.Size(d.ElsewhereBytes)
		if d.ElsewhereBytes == 0 {
			other = ""
		}
		row := []string{strconv.Itoa(d.Index), plain.Size(d.TotalBytes), plain.Size(d.UsedBytes), "",
			plain.Size(d.HeldBytes), other, plain.Size(d.UnchargedBytes), name}
		if reserved {
			row[3] = plain.Size(d.ReservedBytes)
		}
		table.Add(row...)
		for k := range d.Instances {
			p := &d.Instances[k]
			table.Add(p.Name(), plain.Size(p.TotalBytes), plain.Size(p.UsedBytes),
				"", plain.Size(p.HeldBytes), "", "", naming.Part(&d, k))
		}
	}
	table.Write(&t.b, "  ")
}

// uncharged says what no process answers for.
func (t *page) uncharged() {
	for _, d := range t.d.Scan.Devices {
		if d.MPSClients > 0 {
			plain.Wrap(&t.b, "  ", "    ",
				fmt.Sprintf("device %d: %s through the multi-process service (MPS)", d.Index,
					units.Counted(d.MPSClients, "process", "processes")))
		}
		if d.UnchargedBytes > 0 {
			plain.Wrap(&t.b, "  ", "    ", fmt.Sprintf("device %d: %s not charged to any visible process",
				d.Index, plain.Size(d.UnchargedBytes)))
		}
	}
	const most = 20
	elsewhere := t.d.Scan.Elsewhere
	for _, e := range elsewhere[:min(len(elsewhere), most)] {
		why := "which is gone: the driver still holds its memory"
		switch {
		case t.d.Scan.Devices[e.Device].Source == scan.TTMetal:
			why = "which is gone: its entry was never swept"
		case len(e.Candidates) > 0:
			why = "which in an inner namespace is " + pidsText(e.Candidates)
		case e.Namespace:
			why = "of another pid namespace"
		}
		plain.Wrap(&t.b, "  ", "    ", fmt.Sprintf("device %d: %s held for PID %d, %s",
			e.Device, plain.Size(e.Bytes()), e.PID, why))
	}
	if len(elsewhere) > most {
		t.line("  and %d more (--json has them)", len(elsewhere)-most)
	}
}

func pidsText(pids []int) string {
	var list []string
	for _, pid := range pids {
		list = append(list, "PID "+strconv.Itoa(pid))
	}
	return strings.Join(list, " or ")
}

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpumem/gpumem/probe/scan"
)

// gpuMemory is the devices and what they hold. With a title it stands alone.
func (t *diagnosisText) gpuMemory(title string) {
	if title != "" {
		t.line("\n%s", t.bold(title))
	}
	s := t.d.scan
	if t.d.gpuOff {
		t.line("  not looked at: --gpu none")
		return
	}
	t.devices()
	if !t.d.chosen {
		t.uncharged()
	}
	for _, d := range s.Devices {
		for _, note := range d.Notes {
			wrapped(&t.b, fmt.Sprintf("  device %d: ", d.Index), "    ", shown(note))
		}
	}
	for _, a := range t.d.absent {
		wrapped(&t.b, "  ", "    ", absentText(a, false))
	}
}

// devices is a line a device: USED is PROCESSES, OTHER PIDS and NOT CHARGED.
func (t *diagnosisText) devices() {
	if len(t.d.scan.Devices) == 0 {
		return
	}
	table := textTable{columns: []column{
		{"DEVICE", true, 0}, {"TOTAL", true, 0}, {"USED", true, 0}, {"RESERVED", true, 0}, {"PROCESSES", true, 0},
		{"OTHER PIDS", true, 0}, {"NOT CHARGED", true, 0}, {"NAME", false, 0},
	}}
	reserved := slices.ContainsFunc(t.d.scan.Devices, func(d scan.Device) bool { return d.ReservedBytes != scan.Unknown })
	for _, d := range t.d.scan.Devices {
		name := shown(deviceTitle(&d))
		other := sizeText(d.ElsewhereBytes)
		if d.ElsewhereBytes == 0 {
			other = ""
		}
		row := []string{strconv.Itoa(d.Index), sizeText(d.TotalBytes), sizeText(d.UsedBytes), "", sizeText(d.HeldBytes), other, sizeText(d.UnchargedBytes), name}
		if reserved {
			row[3] = sizeText(d.ReservedBytes)
		}
		table.add(row...)
		for k := range d.Instances {
			p := &d.Instances[k]
			table.add(p.Name(), sizeText(p.TotalBytes), sizeText(p.UsedBytes), "", sizeText(p.HeldBytes), "", "", instanceTitle(&d, k))
		}
	}
	table.write(&t.b, "  ")
}

// instanceTitle is the identity of a device's part, after whose memory it has
// when that is not its own.
func instanceTitle(d *scan.Device, k int) string {
	p := &d.Instances[k]
	for i := range d.Instances[:k] {
		if first := &d.Instances[i]; first.GPU == p.GPU {
			return "memory of " + first.Name() + ", " + shown(p.UUID)
		}
	}
	return shown(p.UUID)
}

// deviceTitle is a device's address, driver and name, the driver only where the
// name does not say it.
func deviceTitle(d *scan.Device) string {
	words := []string{d.PCI, d.Driver, d.Name}
	if strings.Contains(strings.ToLower(d.Name), d.Driver) {
		words[1] = ""
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// uncharged says what no process answers for.
func (t *diagnosisText) uncharged() {
	for _, d := range t.d.scan.Devices {
		if d.MPSClients > 0 {
			wrapped(&t.b, "  ", "    ", fmt.Sprintf("device %d: %s through the multi-process service (MPS)", d.Index, plural(d.MPSClients, "process", "processes")))
		}
		if d.UnchargedBytes > 0 {
			wrapped(&t.b, "  ", "    ", fmt.Sprintf("device %d: %s not charged to any visible process", d.Index, sizeText(d.UnchargedBytes)))
		}
	}
	const most = 20
	elsewhere := t.d.scan.Elsewhere
	for _, e := range elsewhere[:min(len(elsewhere), most)] {
		why := "which is gone: the driver still holds its memory"
		switch {
		case t.d.scan.Devices[e.Device].Source == scan.TTMetal:
			why = "which is gone: its entry was never swept"
		case len(e.Candidates) > 0:
			why = "which in an inner namespace is " + pidsText(e.Candidates)
		case e.Namespace:
			why = "of another pid namespace"
		}
		wrapped(&t.b, "  ", "    ", fmt.Sprintf("device %d: %s held for PID %d, %s", e.Device, sizeText(e.Bytes()), e.PID, why))
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

// absentText is the line of a source that is not here; what may help against
// it is for `gpumem devices`.
func absentText(a scan.Absence, help bool) string {
	why := strings.TrimPrefix(a.Err.Error(), a.Source+": ")
	for _, plain := range [...]string{"unsupported operation: ", "load the library: "} {
		why = strings.TrimPrefix(why, plain)
	}
	if !help {
		why, _, _ = strings.Cut(why, ";")
	}
	return a.Source + " not available: " + shown(why)
}

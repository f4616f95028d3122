package nvml

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpumem/gpumem/probe/source"
)

// The questions put to nvidia-smi, in the order that the parsers expect.
const (
	smiDevices = "--query-gpu=index,name,uuid,pci.bus_id," +
		"memory.total,memory.used,memory.free,memory.reserved,driver_version"
	smiVitals = "--query-gpu=utilization.gpu,utilization.memory,temperature.gpu," +
		"power.draw,enforced.power.limit,clocks.sm,clocks.mem"
	smiProcesses = "--query-compute-apps=gpu_uuid,pid,used_gpu_memory"
	smiFormat    = "--format=csv,noheader,nounits"

	// smiTimeout bounds one run; a healthy one takes a tenth of a second.
	smiTimeout = 10 * time.Second
	// smiFresh is how long an answer serves: a run costs so much that asking
	// for every device and every sample anew would disturb what is measured.
	smiFresh = time.Second

	mebibyte = 1 << 20
)

// smi is a driver that runs nvidia-smi.
type smi struct {
	path    string
	devices []Device
	driver  string

	mu   sync.Mutex
	at   time.Time
	list []Process
	err  error
}

// openSMI asks for the devices once, which shows whether it works at all.
func openSMI(o Options) (driver, error) {
	s := &smi{path: o.SMI}
	out, err := s.run("list devices", smiDevices)
	if err != nil {
		return nil, err
	}
	s.devices, s.driver = parseSMIDevices(out)
	return s, nil
}

// run executes nvidia-smi and returns its output.
func (s *smi) run(op, query string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), smiTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, s.path, query, smiFormat)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &stdout, &stderr, time.Second
	err := cmd.Run()
	if err == nil {
		return stdout.Bytes(), nil
	}
	e := &Error{Op: op, Device: -1, Text: firstLine(stdout.String(), stderr.String(), err.Error())}
	switch {
	case errors.Is(err, exec.ErrNotFound):
		e.is, e.Hint = ErrNoLibrary, "install the NVIDIA driver"
	case ctx.Err() != nil:
		e.is, e.Text, e.Hint = ErrTimeout, "nvidia-smi did not answer", "look for Xid messages in dmesg"
	case strings.Contains(e.Text, "mismatch"):
		e.is, e.Hint = ErrMismatch, explain(codeVersionMismatch).try
	case strings.Contains(e.Text, "couldn't communicate"):
		e.is, e.Hint = ErrNoDriver, explain(codeDriverNotLoaded).try
	}
	return nil, e
}

// firstLine returns the first line that says anything.
func firstLine(texts ...string) string {
	for _, t := range texts {
		if line, _, _ := strings.Cut(strings.TrimSpace(t), "\n"); line != "" {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

func (s *smi) count() int      { return len(s.devices) }
func (s *smi) version() string { return s.driver }
func (s *smi) close() error    { return nil }

// device asks anew, since the used bytes move.
func (s *smi) device(i int) Device {
	d := s.devices[i]
	out, err := s.run("list devices", smiDevices)
	if err == nil {
		if list, _ := parseSMIDevices(out); i < len(list) {
			d = list[i]
		}
	} else {
		d.UsedBytes, d.FreeBytes = Unknown, Unknown
		d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)], err.Error())
	}
	d.Notes = append(d.Notes[:len(d.Notes):len(d.Notes)],
		"read through nvidia-smi: compute processes only, in MiB")
	return d
}

func (s *smi) processes(i int, dst []Process) ([]Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() || time.Since(s.at) > smiFresh {
		var out []byte
		out, s.err = s.run("list processes", smiProcesses)
		s.list, s.at = parseSMIProcesses(out, s.devices), time.Now()
	}
	if s.err != nil {
		return dst, s.err
	}
	for _, p := range s.list {
		if p.Device == i {
			dst = append(dst, p)
		}
	}
	return dst, nil
}

func (s *smi) peaks(i int) ([]Peak, error) {
	return nil, &Error{Op: "read the accounting", Device: i, is: ErrUnsupported,
		Text: "nvidia-smi is asked for live processes only"}
}

// vitals asks anew; a run that fails leaves them unknown.
func (s *smi) vitals() []source.Vitals {
	out, _ := s.run("read the devices' sensors", smiVitals) // what failed told nothing
	list := parseSMIVitals(out)
	for len(list) < len(s.devices) {
		list = append(list, source.UnknownVitals())
	}
	return list[:len(s.devices)]
}

// parseSMIVitals reads the answer to smiVitals, one line a device.
func parseSMIVitals(out []byte) []source.Vitals {
	var list []source.Vitals
	for _, f := range smiRows(out, 7) {
		n := func(i int, unit float64) int64 {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil || !(v >= 0 && v < 1e9) {
				return Unknown
			}
			return int64(v*unit + .5)
		}
		list = append(list, source.Vitals{BusyPercent: n(0, 1), MemoryBusyPercent: n(1, 1), Celsius: n(2, 1),
			Milliwatts: n(3, 1000), LimitMilliwatts: n(4, 1000), MHz: n(5, 1), MemoryMHz: n(6, 1)})
	}
	return list
}

// parseSMIDevices reads the answer to smiDevices and the driver's version.
// A line with too few fields is left out.
func parseSMIDevices(out []byte) ([]Device, string) {
	var list []Device
	var version string
	for _, f := range smiRows(out, 9) {
		d := Device{
			Index: len(list), Name: smiText(f[1]), UUID: smiText(f[2]), PCI: normalPCI(smiText(f[3])),
			TotalBytes: smiMiB(f[4]), UsedBytes: smiMiB(f[5]), FreeBytes: smiMiB(f[6]),
			ReservedBytes: smiMiB(f[7]),
		}
		if d.TotalBytes == Unknown {
			d.Notes = append(d.Notes, fmt.Sprintf("memory figures: nvidia-smi says %q", f[4]))
		}
		version = smiText(f[8])
		list = append(list, d)
	}
	return list, version
}

// parseSMIProcesses reads the answer to smiProcesses. Lines of unknown devices
// and without a PID are left out: there is nothing to charge them to.
func parseSMIProcesses(out []byte, devices []Device) []Process {
	var list []Process
	for _, f := range smiRows(out, 3) {
		pid, err := strconv.ParseUint(f[1], 10, 31)
		if err != nil {
			continue
		}
		for _, d := range devices {
			if d.UUID != "" && d.UUID == f[0] {
				list = merge(list, Process{PID: int(pid), Device: d.Index, Kind: Compute, Bytes: smiMiB(f[2]),
					GPUInstance: NoInstance, ComputeInstance: NoInstance})
			}
		}
	}
	return list
}

// smiRows splits lines into exactly n trimmed fields.
func smiRows(out []byte, n int) [][]string {
	var rows [][]string
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), ",")
		if len(f) != n {
			continue
		}
		for i := range f {
			f[i] = strings.TrimSpace(f[i])
		}
		rows = append(rows, f)
	}
	return rows
}

// smiText returns a field, empty when nvidia-smi says in brackets that it has
// none ("[N/A]", "[Not Supported]").
func smiText(f string) string {
	if strings.HasPrefix(f, "[") {
		return ""
	}
	return strings.ToValidUTF8(f, "?")
}

// smiMiB reads a number of MiB; anything else is Unknown.
func smiMiB(f string) int64 {
	v, err := strconv.ParseUint(f, 10, 43) // 2^43 MiB are 2^63 bytes
	if err != nil {
		return Unknown
	}
	return int64(v) * mebibyte
}

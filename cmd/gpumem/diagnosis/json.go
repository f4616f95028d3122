package diagnosis

import (
	"io"
	"math"
	"runtime"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/probe"
	"github.com/gpumem/gpumem/probe/host"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// The types below are the JSON of `gpumem diagnose`. A pointer that is absent
// is a number that is not known. Bytes are raw, times in seconds.

// Document is a diagnosis as JSON.
type Document struct {
	Schema    int             `json:"schema"`
	Host      string          `json:"host,omitempty"`
	OS        string          `json:"os"`
	At        time.Time       `json:"at"`
	ScanMs    float64         `json:"scan_ms"`
	Watched   *watchedJSON    `json:"watched,omitempty"`
	Machine   machineJSON     `json:"machine"`
	Processes []processJSON   `json:"processes"`
	Devices   []deviceJSON    `json:"devices"`
	Elsewhere []elsewhereJSON `json:"held_elsewhere,omitempty"`
	// LeftBehind are the PIDs that hold GPU memory although who started them has gone.
	LeftBehind []int         `json:"left_behind,omitempty"`
	Absent     []absenceJSON `json:"absent_sources,omitempty"`
	// Hidden is the number of processes that may not be looked into.
	Hidden   int      `json:"hidden_processes"`
	Unlisted bool     `json:"unlisted_processes,omitempty"`
	Kernel   int      `json:"kernel_threads"`
	Zombies  int      `json:"zombies"`
	Warnings []string `json:"warnings,omitempty"`
}

type watchedJSON struct {
	Seconds   float64 `json:"seconds"`
	Interval  float64 `json:"interval_seconds"`
	Samples   int     `json:"samples"`
	Processes int     `json:"processes"`
	Ended     int     `json:"ended"`
	// FalseDiscovery is the rate that holds over the verdicts of growth.
	FalseDiscovery float64 `json:"false_discovery_rate"`
}

type machineJSON struct {
	Memory      *int64 `json:"memory_bytes,omitempty"`
	Available   *int64 `json:"available_bytes,omitempty"`
	SwapTotal   *int64 `json:"swap_total_bytes,omitempty"`
	SwapFree    *int64 `json:"swap_free_bytes,omitempty"`
	CgroupLimit *int64 `json:"cgroup_limit_bytes,omitempty"`
	CgroupUsage *int64 `json:"cgroup_usage_bytes,omitempty"`

	Platform       string       `json:"platform,omitempty"`
	Kernel         string       `json:"kernel,omitempty"`
	Booted         *time.Time   `json:"booted,omitempty"`
	Virtualization string       `json:"virtualization,omitempty"`
	CPU            string       `json:"cpu,omitempty"`
	Processors     int          `json:"processors,omitempty"`
	Temperatures   []sensorJSON `json:"temperatures,omitempty"`
}

// sensorJSON is a temperature in degrees Celsius.
type sensorJSON struct {
	Name     string  `json:"name"`
	Celsius  float64 `json:"celsius"`
	High     float64 `json:"high,omitempty"`
	Critical float64 `json:"critical,omitempty"`
}

type processJSON struct {
	PID        int          `json:"pid"`
	Parent     int          `json:"parent"`
	Name       string       `json:"name"`
	Executable string       `json:"executable,omitempty"`
	Deleted    bool         `json:"executable_deleted,omitempty"`
	Version    string       `json:"version,omitempty"`
	Modified   *time.Time   `json:"executable_modified,omitempty"`
	Command    []string     `json:"command,omitempty"`
	Owner      string       `json:"owner,omitempty"`
	Age        *float64     `json:"age_seconds,omitempty"`
	CPU        *float64     `json:"cpu_seconds,omitempty"`
	State      scan.State   `json:"state"`
	Threads    int          `json:"threads,omitempty"`
	Footprint  *int64       `json:"footprint_bytes,omitempty"`
	Peak       *int64       `json:"footprint_peak_bytes,omitempty"`
	RSS        *int64       `json:"rss_bytes,omitempty"`
	Anon       *int64       `json:"rss_anon_bytes,omitempty"`
	File       *int64       `json:"rss_file_bytes,omitempty"`
	Shmem      *int64       `json:"rss_shmem_bytes,omitempty"`
	FileDirty  *int64       `json:"file_dirty_bytes,omitempty"`
	FileCache  *int64       `json:"file_cache_bytes,omitempty"`
	Swap       *int64       `json:"swap_bytes,omitempty"`
	GPU        *int64       `json:"gpu_bytes,omitempty"`
	GPUs       []chargeJSON `json:"gpus,omitempty"`
	Hidden     bool         `json:"hidden,omitempty"`
	Tooling    []string     `json:"tooling,omitempty"`
	Made       []partJSON   `json:"made_of,omitempty"`
	// These are of processes that somebody named.
	Started    *time.Time `json:"started,omitempty"`
	ParentName string     `json:"parent_name,omitempty"`
	OpenFiles  *int64     `json:"open_files,omitempty"`
	Cgroup     string     `json:"cgroup,omitempty"`

	Growth    *float64 `json:"footprint_bytes_per_second,omitempty"`
	GPUGrowth *float64 `json:"gpu_bytes_per_second,omitempty"`
	// Grows is set when the process is called growing, whoever's it is.
	Grows *bool `json:"grows,omitempty"`
	// Next settles whose the growth is, where that is open.
	Next    string           `json:"next,omitempty"`
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
}

type chargeJSON struct {
	Device int    `json:"device"`
	Local  *int64 `json:"device_bytes,omitempty"`
	Host   *int64 `json:"host_bytes,omitempty"`
	Shared bool   `json:"shared,omitempty"`
	// Clients and Busy are told on macOS only.
	Clients int      `json:"clients,omitempty"`
	Busy    *float64 `json:"gpu_seconds,omitempty"`
}

type partJSON struct {
	Kind string `json:"kind"`
	RSS  *int64 `json:"rss_bytes,omitempty"`
	PSS  *int64 `json:"pss_bytes,omitempty"`
	Swap *int64 `json:"swap_bytes,omitempty"`
}

type deviceJSON struct {
	Device    int            `json:"device"`
	Source    string         `json:"source"`
	Driver    string         `json:"driver,omitempty"`
	Name      string         `json:"name,omitempty"`
	UUID      string         `json:"uuid,omitempty"`
	PCI       string         `json:"pci,omitempty"`
	Total     *int64         `json:"total_bytes,omitempty"`
	Used      *int64         `json:"used_bytes,omitempty"`
	Reserved  *int64         `json:"reserved_bytes,omitempty"`
	Held      *int64         `json:"held_by_processes_bytes,omitempty"`
	Other     *int64         `json:"held_elsewhere_bytes,omitempty"`
	Uncharged *int64         `json:"not_charged_bytes,omitempty"`
	Instances []instanceJSON `json:"instances,omitempty"`
	MPS       int            `json:"mps_clients,omitempty"`
	Notes     []string       `json:"notes,omitempty"`
}

type instanceJSON struct {
	GPU     int    `json:"gpu_instance"`
	Compute int    `json:"compute_instance"`
	UUID    string `json:"uuid,omitempty"`
	Total   *int64 `json:"total_bytes,omitempty"`
	Used    *int64 `json:"used_bytes,omitempty"`
	Held    *int64 `json:"held_by_processes_bytes,omitempty"`
}

type elsewhereJSON struct {
	PID        int    `json:"pid"`
	Device     int    `json:"device"`
	Bytes      *int64 `json:"bytes,omitempty"`
	Why        string `json:"why"` // gone, namespace
	Candidates []int  `json:"candidates,omitempty"`
}

type absenceJSON struct {
	Source string `json:"source"`
	Why    string `json:"why"`
}

// JSON writes the Document of it.
func (d *Diagnosis) JSON(w io.Writer) error {
	s, t := d.Scan, d.Scan.Totals
	j := Document{
		Schema: 1, Host: d.Host, OS: runtime.GOOS + "/" + runtime.GOARCH, At: s.At,
		ScanMs:    float64(s.Elapsed.Microseconds()) / 1000,
		Machine:   d.machineJSON(&t),
		Processes: processesJSON(s.Processes), Devices: []deviceJSON{},
		Hidden: s.Hidden, Unlisted: s.Unlisted, Kernel: s.Kernel, Zombies: len(s.Zombies()),
		Warnings: s.Warnings,
	}
	if o := d.Watched; o != nil {
		j.Watched = &watchedJSON{o.length.Seconds(), o.interval.Seconds(), o.samples, len(o.of), o.ended,
			falseDiscovery}
		j.Warnings = append(j.Warnings, o.warnings...)
	}
	if !d.Chosen { // of a few processes nobody can tell who else is there
		for _, p := range orphans(s) {
			j.LeftBehind = append(j.LeftBehind, p.PID)
		}
	}
	for i := range j.Processes {
		d.completeJSON(&j.Processes[i], &s.Processes[i])
	}
	for _, v := range s.Devices {
		j.Devices = append(j.Devices, deviceJSON{
			v.Index, v.Source, v.Driver, v.Name, v.UUID, v.PCI, plain.Known(v.TotalBytes),
			plain.Known(v.UsedBytes),
			plain.Known(v.ReservedBytes), plain.Known(v.HeldBytes), plain.Known(v.ElsewhereBytes),
			plain.Known(v.UnchargedBytes), instancesJSON(&v), v.MPSClients, v.Notes,
		})
	}
	for _, e := range s.Elsewhere {
		j.Elsewhere = append(j.Elsewhere,
			elsewhereJSON{e.PID, e.Device, plain.Known(e.Bytes()), whyElsewhere(&e), e.Candidates})
	}
	for _, a := range d.Absent {
		j.Absent = append(j.Absent, absenceJSON{a.Source, a.Err.Error()})
	}
	return plain.WriteJSON(w, j)
}

// whyElsewhere says in a word why a pid is no process here.
func whyElsewhere(e *scan.Elsewhere) string {
	if e.Namespace {
		return "namespace"
	}
	return "gone"
}

// completeJSON adds what was observed of a process and what it is made of.
func (d *Diagnosis) completeJSON(j *processJSON, p *scan.Process) {
	if o := d.Watched.on(p.PID, p.Start); o != nil {
		j.Verdict, j.Grows = o.verdict, &o.grows
		if Unowned(o.verdict) != nil {
			j.Next = unownedNext(p.PID, naming.Command(p))
		}
		if g := o.growth(record.ColGPU); !math.IsNaN(g) {
			j.GPUGrowth = &g
		}
		if g := o.growth(record.ColFootprint); !math.IsNaN(g) {
			j.Growth = &g
		}
	}
	if _, looked := d.about[p.PID]; looked {
		about := d.known(p)
		j.aboutJSON(&about)
	}
	made := d.made[p.PID]
	for _, part := range made.parts() {
		j.Made = append(j.Made, partJSON{part.kind.String(), plain.Known(part.usage.RSS),
			plain.Known(part.usage.PSS), plain.Known(part.usage.Swap)})
	}
}

func processesJSON(list []scan.Process) []processJSON {
	out := make([]processJSON, 0, len(list))
	for _, p := range list {
		m := p.Memory
		j := processJSON{
			PID: p.PID, Parent: p.Parent, Name: p.Name, Executable: p.Executable, Deleted: p.Deleted,
			Version: p.Version.ID,
			Command: p.Command, Owner: p.Owner, Age: plain.Seconds(p.Age), CPU: plain.Seconds(p.CPU),
			State: p.State, Threads: p.Threads,
			Footprint: plain.Known(p.Footprint()), Peak: plain.Known(m.Peak), RSS: plain.Known(m.RSS),
			Anon: plain.Known(m.Anon), File: plain.Known(m.File), Shmem: plain.Known(m.Shmem),
			FileDirty: plain.Known(m.Dirty), FileCache: plain.Known(m.FileCache()),
			Swap: plain.Known(m.Swap), GPU: plain.Known(p.GPUBytes()), Hidden: p.Hidden,
		}
		for _, tool := range p.Tooling {
			j.Tooling = append(j.Tooling, tool.String())
		}
		if !p.Version.Modified.IsZero() {
			j.Modified = &p.Version.Modified
		}
		for _, c := range p.GPU {
			g := chargeJSON{Device: c.Device, Local: plain.Known(c.LocalBytes),
				Host: plain.Known(c.HostBytes), Shared: c.Shared, Clients: c.Clients}
			if c.Clients > 0 {
				g.Busy = plain.Seconds(c.Busy)
			}
			j.GPUs = append(j.GPUs, g)
		}
		out = append(out, j)
	}
	return out
}

// machineJSON is the machine's memory, and what it is where somebody looked.
func (d *Diagnosis) machineJSON(t *probe.Totals) machineJSON {
	m := machineJSON{
		Memory: plain.Known(t.Memory), Available: plain.Known(t.Available),
		SwapTotal: plain.Known(t.SwapTotal), SwapFree: plain.Known(t.SwapFree),
		CgroupLimit: plain.Known(t.CgroupLimit), CgroupUsage: plain.Known(t.CgroupUsage),
	}
	for _, s := range d.Sensors {
		m.Temperatures = append(m.Temperatures, sensorJSON(s))
	}
	if f := d.Machine; f != nil {
		m.Platform, m.Kernel, m.Virtualization, m.CPU, m.Processors = f.Platform, f.Kernel, f.Virtualization,
			f.CPU, f.Processors
		if !f.Booted.IsZero() {
			m.Booted = &f.Booted
		}
	}
	return m
}

// aboutJSON adds what is known of a process beyond its memory.
func (j *processJSON) aboutJSON(about *host.Process) {
	if !about.Started.IsZero() {
		j.Started = &about.Started
	}
	j.ParentName, j.Cgroup, j.OpenFiles = about.ParentName, about.Cgroup, plain.Known(about.OpenFiles)
}

func instancesJSON(d *scan.Device) []instanceJSON {
	var list []instanceJSON
	for _, p := range d.Instances {
		list = append(list, instanceJSON{p.GPU, p.Compute, p.UUID, plain.Known(p.TotalBytes),
			plain.Known(p.UsedBytes), plain.Known(p.HeldBytes)})
	}
	return list
}

package books

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/tty"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// What a device is taken to have when nobody says, as in tt-metal's monitor.
const (
	assumedDRAM = 12 << 30
	assumedL1   = 75 << 20
)

// serverWait bounds each question to the server.
const serverWait = 5 * time.Second

// Kind is one kind of memory of one device.
type Kind struct {
	Name     string `json:"kind"`
	Used     uint64 `json:"used_bytes"`
	Capacity uint64 `json:"capacity_bytes"`
	// Assumed is set when the server does not say what the device has.
	Assumed bool     `json:"capacity_assumed,omitempty"`
	Rate    *float64 `json:"bytes_per_second,omitempty"` // since the sample before
	Level   string   `json:"level"`
}

// Device is one device of a server.
type Device struct {
	Device  int32  `json:"device"`
	Buffers *int64 `json:"buffers,omitempty"`
	CBs     *int64 `json:"cbs,omitempty"`
	Kernels *int64 `json:"kernels,omitempty"`
	Kinds   []Kind `json:"kinds"`
}

// Sample is one sample of an allocation server. What a server of tt-metal
// itself does not tell is left out.
type Sample struct {
	Schema    int               `json:"schema"`
	Time      time.Time         `json:"time"`
	Server    string            `json:"server"`
	Active    *int64            `json:"active,omitempty"`
	Rate      *float64          `json:"messages_per_second,omitempty"`
	Devices   []Device          `json:"devices"`
	Processes []ttmetal.Holding `json:"processes,omitempty"`
}

// ForeignDevices is how many devices the tt-metal server knows.
const ForeignDevices = 8

// serverWatch asks a server again and again. It belongs to one goroutine.
type serverWatch struct {
	socket  string
	devices []int // to show, none is all
	foreign bool  // a server that is not gpumem: it has counters only
	before  *ttmetal.Dump
}

// ask takes a sample.
func (w *serverWatch) ask() (*Sample, error) {
	d, err := w.books()
	if err != nil {
		return nil, err
	}
	line := &Sample{Schema: 1, Time: d.Time, Server: w.socket, Devices: []Device{},
		Processes: w.chosen(d.Holdings)}
	if !w.foreign {
		line.Active = &d.Active
	}
	seconds := 0.
	if w.before != nil && w.before.Started.Equal(d.Started) {
		seconds = d.Time.Sub(w.before.Time).Seconds()
	}
	if seconds > 0 && d.Counts != nil && w.before.Counts != nil {
		rate := float64(d.Counts.Messages-w.before.Counts.Messages) / seconds
		line.Rate = &rate
	}
	for i := range d.Devices {
		if w.shows(d.Devices[i].Device) {
			line.Devices = append(line.Devices, w.device(&d.Devices[i], seconds))
		}
	}
	w.before = d
	return line, nil
}

// books asks for the sums; of a server that does not know them, its counters.
func (w *serverWatch) books() (*ttmetal.Dump, error) {
	if !w.foreign {
		d, err := ttmetal.AskSums(w.socket, serverWait)
		if !errors.Is(err, ttmetal.ErrElsewhere) {
			return d, err
		}
		w.foreign = true
	}
	devices, err := ttmetal.AskTotals(w.socket, ForeignDevices, serverWait)
	devices = slices.DeleteFunc(devices, func(d ttmetal.Device) bool {
		for _, v := range d.Used {
			if v > 0 {
				return false
			}
		}
		return true
	})
	return &ttmetal.Dump{Time: time.Now().UTC(), Devices: devices}, err
}

func (w *serverWatch) shows(device int32) bool {
	return len(w.devices) == 0 || slices.Contains(w.devices, int(device))
}

// chosen are the holdings on the devices that are shown.
func (w *serverWatch) chosen(all []ttmetal.Holding) []ttmetal.Holding {
	return slices.DeleteFunc(all, func(h ttmetal.Holding) bool { return !w.shows(h.Device) })
}

// device is the kinds of memory of a device: DRAM and L1 always, others when
// something is in them. Seconds is the time since the sample before, 0 when there
// is none.
func (w *serverWatch) device(d *ttmetal.Device, seconds float64) Device {
	out := Device{Device: d.Device}
	if !w.foreign {
		out.Buffers, out.CBs, out.Kernels = &d.Buffers, &d.CBs, &d.Kernels
	}
	for c := ttmetal.CountDRAM; c <= ttmetal.CountKernel; c++ {
		used, told := d.Used[c.String()]
		if !told || used == 0 && c > ttmetal.CountL1 {
			continue
		}
		k := Kind{Name: c.String(), Used: used}
		k.Capacity, k.Assumed = capacityOf(d, c)
		k.Level = plain.FillOf(used, k.Capacity).String()
		if seconds > 0 {
			rate := (float64(used) - float64(w.was(d.Device, c))) / seconds
			k.Rate = &rate
		}
		out.Kinds = append(out.Kinds, k)
	}
	return out
}

// was is a counter in the sample before; a device that was not listed held nothing.
func (w *serverWatch) was(device int32, c ttmetal.Counter) uint64 {
	for i := range w.before.Devices {
		if w.before.Devices[i].Device == device {
			return w.before.Devices[i].Used[c.String()]
		}
	}
	return 0
}

// capacityOf is what a device has for a kind: traces lie in DRAM, small buffers,
// circular buffers and kernels in L1.
func capacityOf(d *ttmetal.Device, c ttmetal.Counter) (capacity uint64, assumed bool) {
	in, usual := ttmetal.CountL1, uint64(assumedL1)
	if c == ttmetal.CountDRAM || c == ttmetal.CountTrace {
		in, usual = ttmetal.CountDRAM, assumedDRAM
	}
	if v := d.Capacity[in.String()]; v > 0 {
		return v, false
	}
	return usual, true
}

// WatchOptions say which server is shown, and how.
type WatchOptions struct {
	Socket   string
	Devices  []int // to show, none is all
	JSON     bool  // an object a sample
	Compact  bool  // a short line a sample
	Samples  int   // after which it ends, 0 for no end
	Every    time.Duration
	Out, Err *os.File
	Getenv   func(string) string
}

// Watch shows a server until ctx is done, or for some samples.
func Watch(ctx context.Context, o WatchOptions) error {
	w := &serverWatch{socket: o.Socket, devices: o.Devices}
	line, err := w.ask()
	if err != nil {
		return fmt.Errorf("%w; is it running? gpumem serve --socket %s", err, o.Socket)
	}
	show := newShow(o)
	defer show.end()
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	for n := 1; ; n++ {
		if err := show.sample(line, err); err != nil || n == o.Samples {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		line, err = w.ask()
	}
}

// serverShow shows samples: each a JSON object, a frame on the terminal in the
// place of the one before, or a block of text after it.
type serverShow struct {
	out    *os.File
	err    io.Writer
	json   bool
	number int  // of the next sample of --compact, 0 without it
	live   bool // frames on a terminal
	color  bool
	every  time.Duration
	silent bool // the server did not answer the last time
}

func newShow(o WatchOptions) *serverShow {
	s := &serverShow{out: o.Out, err: o.Err, json: o.JSON, every: o.Every,
		color: tty.WantColor(o.Out, o.Getenv)}
	if o.Compact {
		s.number = 1
	}
	s.live = !o.JSON && !o.Compact && tty.Is(o.Out) && o.Getenv("TERM") != "dumb"
	if s.live {
		fmt.Fprint(o.Out, "\x1b[?1049h\x1b[?25l") // another screen, no cursor
	}
	return s
}

func (s *serverShow) end() {
	if s.live {
		fmt.Fprint(s.out, "\x1b[?25h\x1b[?1049l")
	}
}

// sample shows one sample, or that the server did not answer.
func (s *serverShow) sample(line *Sample, failed error) error {
	if failed != nil {
		if !s.silent && !s.live {
			fmt.Fprintf(s.err, "gpumem: warning: %v; asking on\n", failed)
		}
		s.silent = true
		if s.live {
			fmt.Fprintf(s.out, "\x1b[1;1H%v\x1b[K", failed)
		}
		return nil
	}
	s.silent = false
	if s.json {
		return json.NewEncoder(s.out).Encode(line)
	}
	if s.number > 0 {
		_, err := io.WriteString(s.out, compactServer(s.number, line))
		s.number++
		return err
	}
	text := serverText(line, s.every, s.color)
	if !s.live {
		_, err := io.WriteString(s.out, text+"\n")
		return err
	}
	_, height, err := term.GetSize(s.out.Fd())
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if err == nil && height > 0 {
		lines = lines[:min(len(lines), height)]
	}
	_, err = io.WriteString(s.out, "\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J")
	return err
}

// shownHoldings bounds the processes of a frame.
const shownHoldings = 20

// serverText is a frame.
func serverText(l *Sample, every time.Duration, color bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Cross-Process Memory Monitor  %s  %s  every %s\n", l.Server,
		l.Time.Local().Format(time.TimeOnly), every)
	assumed := false
	for _, d := range l.Devices {
		fmt.Fprintf(&b, "\nDevice %d:%s\n", d.Device, deviceCounts(&d))
		for _, k := range d.Kinds {
			assumed = assumed || k.Assumed
			b.WriteString(kindText(&k, color))
		}
	}
	if len(l.Devices) == 0 {
		b.WriteString("\nNothing is on the books of a device that is shown.\n")
	}
	if len(l.Processes) > 0 {
		b.WriteString("\nProcesses:\n")
	}
	for i, h := range l.Processes {
		if i == shownHoldings {
			fmt.Fprintf(&b, "  and %d more\n", len(l.Processes)-i)
			break
		}
		fmt.Fprintf(&b, "  PID %d on device %d: %s, %s\n", h.PID, h.Device,
			units.Counted(int64(h.Count), "buffer", "buffers"), plain.Size(h.Bytes))
	}
	if l.Active != nil {
		fmt.Fprintf(&b, "\nActive allocations: %d", *l.Active)
		if l.Rate != nil {
			fmt.Fprintf(&b, "  (%s messages a second)", units.Digits(*l.Rate))
		}
		b.WriteString("\n")
	}
	if assumed {
		b.WriteString("* of what such a device usually has; gpumem serve --device tells how much it is\n")
	}
	return b.String()
}

func deviceCounts(d *Device) string {
	if d.Buffers == nil {
		return ""
	}
	text := " " + units.Counted(int64(*d.Buffers), "buffer", "buffers")
	if *d.CBs > 0 {
		text += ", " + units.Counted(int64(*d.CBs), "circular buffer", "circular buffers")
	}
	if *d.Kernels > 0 {
		text += ", " + units.Counted(int64(*d.Kernels), "kernel", "kernels")
	}
	return text
}

// barWidth is the cells of a bar, as in tt-metal's monitor.
const barWidth = 25

func kindText(k *Kind, color bool) string {
	part := min(float64(k.Used)/float64(k.Capacity), 1)
	full := int(part*barWidth + 0.5)
	bar := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
	if color {
		bar = plain.FillOf(k.Used, k.Capacity).Color() + bar + "\x1b[0m"
	}
	mark := ""
	if k.Assumed {
		mark = "*"
	}
	rate := ""
	if k.Rate != nil && *k.Rate != 0 {
		rate = "  " + plain.Rate(*k.Rate)
	}
	return fmt.Sprintf("  %-8s [%s] %5.1f %%  %s of %s%s%s\n", k.Name, bar,
		100*float64(k.Used)/float64(k.Capacity), plain.Size(int64(k.Used)), plain.Size(int64(k.Capacity)),
		mark, rate)
}

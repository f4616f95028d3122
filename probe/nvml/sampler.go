package nvml

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Sampler asks for the bytes of a few processes on all devices, again and
// again, without allocating. It belongs to one goroutine; Close it when done.
//
// The driver is called on a goroutine of the sampler's own, so that a driver
// that stalls costs the caller at most the timeout. As long as a call is
// stuck, further samples fail at once.
type Sampler struct {
	l       *Library
	timeout time.Duration
	timer   *time.Timer
	ask     chan *round
	answer  chan *round
	stuck   bool
	closed  bool

	now   *round // the round whose figures are read
	spare *round
	pids  []int
	late  error
}

// round is the state of one sample: a list for every device.
type round struct{ devices []listing }

// listing is what a device last said.
type listing struct {
	processes []Process
	err       error
	answered  bool // processes holds a good answer, perhaps an old one
	foreign   bool // it lists PIDs that do not exist here
}

// NewSampler starts a sampler over all devices of the library.
func (l *Library) NewSampler() *Sampler {
	s := &Sampler{
		l: l, timeout: l.timeout(), timer: time.NewTimer(time.Hour),
		ask: make(chan *round), answer: make(chan *round, 1),
	}
	s.timer.Stop()
	n := l.Count()
	s.now = &round{make([]listing, n)}
	s.spare = &round{make([]listing, n)}
	s.late = &Error{Op: "list processes", Device: -1, is: ErrTimeout,
		Text: "the driver did not answer within " + s.timeout.String(),
		Hint: "look for Xid messages in dmesg"}
	go s.work()
	return s
}

// work answers rounds until Close.
func (s *Sampler) work() {
	for r := range s.ask {
		for i := range r.devices {
			d := &r.devices[i]
			d.processes, d.err = s.l.appendProcesses(i, d.processes[:0])
			d.answered = d.err == nil
			if d.err != nil {
				d.processes = d.processes[:0]
			}
			d.foreign = s.l.foreign && s.l.anyForeign(d.processes)
		}
		s.answer <- r
	}
}

// Sample asks every device once. The figures are then read with Bytes and
// DeviceBytes, whose first argument is an index into pids; pids is kept until
// the next call. The error is ErrTimeout when the driver is stuck (figures
// are then Unknown), else the first device's refusal, if any refused.
func (s *Sampler) Sample(pids []int) error {
	s.pids = append(s.pids[:0], pids...)
	if s.closed {
		return &Error{Op: "list processes", Device: -1, Text: ErrClosed.Error(), is: ErrClosed}
	}
	if s.stuck {
		select {
		case r := <-s.answer:
			s.spare, s.stuck = r, false
		default:
			return s.late
		}
	}
	s.ask <- s.spare
	s.timer.Reset(s.timeout)
	select {
	case r := <-s.answer:
		s.timer.Stop()
		s.keepOld(r)
		s.spare, s.now = s.now, r
		return s.firstError()
	case <-s.timer.C:
		s.stuck = true
		return s.late
	}
}

// keepOld carries the last good list of a device that refused over from the
// round before: it tells which processes had memory there.
func (s *Sampler) keepOld(r *round) {
	for i := range r.devices {
		d, old := &r.devices[i], &s.now.devices[i]
		if d.err != nil && old.answered {
			d.processes = append(d.processes[:0], old.processes...)
			d.answered, d.foreign = true, old.foreign
		}
	}
}

func (s *Sampler) firstError() error {
	for i := range s.now.devices {
		if err := s.now.devices[i].err; err != nil {
			return err
		}
	}
	return nil
}

// Devices is the number of devices.
func (s *Sampler) Devices() int { return len(s.now.devices) }

// Err is why a device did not answer the last sample, nil when it did.
func (s *Sampler) Err(device int) error {
	if s.stuck {
		return s.late
	}
	if device < 0 || device >= len(s.now.devices) {
		return noSuchDevice("list processes", device, len(s.now.devices))
	}
	return s.now.devices[device].err
}

// has reports whether the last sample has such a process and device.
func (s *Sampler) has(i, device int) bool {
	return i >= 0 && i < len(s.pids) && device >= 0 && device < len(s.now.devices)
}

// DeviceBytes is what a device charges process number i of the last sample,
// over all MIG instances: 0 when the device answered and does not list it,
// Unknown when the device did not answer, gave no figure, or lists PIDs of
// another namespace. An index out of range is Unknown too.
func (s *Sampler) DeviceBytes(i, device int) int64 {
	if !s.has(i, device) {
		return Unknown
	}
	d := &s.now.devices[device]
	bytes, listed := find(d.processes, s.pids[i])
	if s.stuck || d.err != nil || !listed && d.foreign {
		return Unknown
	}
	return bytes
}

// Bytes is what all devices charge process number i of the last sample. A
// device that does not answer makes it Unknown if the process had memory
// there when it last did; a device that never answered is left out, unless
// none ever did.
func (s *Sampler) Bytes(i int) int64 {
	if s.stuck || i < 0 || i >= len(s.pids) {
		return Unknown
	}
	total, known := int64(0), false
	for device := range s.now.devices {
		d := &s.now.devices[device]
		if !d.answered {
			continue
		}
		bytes, listed := find(d.processes, s.pids[i])
		if bytes == Unknown || listed && d.err != nil || !listed && d.foreign {
			return Unknown
		}
		if d.err == nil {
			known = true
			total += bytes
		}
	}
	if !known {
		return Unknown
	}
	return total
}

// find adds a process's instances up. A single N/A makes the sum unknown.
func find(list []Process, pid int) (bytes int64, listed bool) {
	for i := range list {
		if list[i].PID != pid {
			continue
		}
		listed = true
		if list[i].Bytes == Unknown {
			return Unknown, true
		}
		bytes += list[i].Bytes
	}
	return bytes, listed
}

// Close ends the sampler. It does not wait for a driver that is stuck.
func (s *Sampler) Close() {
	if !s.closed {
		s.closed = true
		close(s.ask)
	}
}

// anyForeign reports whether the driver lists a process that is not here.
func (l *Library) anyForeign(list []Process) bool {
	proc := filepath.Join(rootOf(l.options.Root), "proc")
	for i := range list {
		if _, err := os.Lstat(filepath.Join(proc, strconv.Itoa(list[i].PID))); err != nil {
			return true
		}
	}
	return false
}

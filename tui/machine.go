package tui

import "math"

// Device is a GPU of the machine in the list of devices. NaN is unknown.
type Device struct {
	Name        string
	Used, Total float64 // bytes of its own memory, for everybody
	// Busy is the share of the last moments in which something ran on it.
	Busy              float64
	Celsius           float64
	Watts, LimitWatts float64
	MHz, MemoryMHz    float64
}

// Facts are what the system tells of a process beside its memory. Texts that are not
// known are empty.
type Facts struct {
	User    string
	Command string  // the whole command line
	CPU     float64 // share of one core, lately; NaN when unknown
}

func unknownFacts() Facts { return Facts{CPU: math.NaN()} }

// SetDevices takes the devices of the machine as they are now. The feed keeps the
// list; the caller must not change it any more.
func (f *Feed) SetDevices(list []Device) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range list {
		list[i].Name = clean(list[i].Name)
	}
	f.devices = list
	f.news++
}

// Describe takes what the system tells of a process that is on the screen.
func (f *Feed) Describe(pid int, of Facts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.of(pid); p != nil {
		of.User, of.Command = clean(of.User), clean(of.Command)
		p.facts = of
	}
}

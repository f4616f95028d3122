package scan

import (
	"errors"
	"fmt"

	"github.com/gpumem/gpumem/probe/ttmetal"
)

// ttSource is the shared memory in which tt-metal's programs keep their books.
// Its methods do nothing on nil.
type ttSource struct {
	reader  *ttmetal.Reader
	devices map[uint64]int // by ASIC
	indexes []int          // of the same, ascending
}

func (s *Sources) openTTMetal() error {
	reader, err := ttmetal.Open(s.root)
	if err != nil {
		return err
	}
	list, err := reader.Devices()
	if len(list) == 0 {
		return errors.Join(errors.New("ttmetal: no device's file can be read"), err)
	}
	s.tt = &ttSource{reader: reader, devices: map[uint64]int{}}
	for _, d := range list {
		if _, known := s.tt.devices[d.ASIC]; !known {
			i := s.add(ttDevice(&d))
			s.tt.devices[d.ASIC], s.tt.indexes = i, append(s.tt.indexes, i)
		}
	}
	return nil
}

// ttDevice puts a device's file into ours. What it has in all is not told.
func ttDevice(d *ttmetal.Device) Device {
	return Device{
		Source: TTMetal, Driver: "tenstorrent", Name: fmt.Sprintf("Tenstorrent device %d", d.Number), UUID: fmt.Sprintf("%x", d.ASIC),
		TotalBytes: Unknown, UsedBytes: int64(d.Total.Bytes()), ReservedBytes: Unknown,
	}
}

// refresh brings what the devices hold up to date.
func (s *ttSource) refresh(list []Device) {
	if s == nil {
		return
	}
	now, err := s.reader.Devices()
	for i := range list {
		if list[i].Source == TTMetal {
			list[i].UsedBytes = Unknown
			if err != nil {
				list[i].Notes = append(list[i].Notes, err.Error())
			}
		}
	}
	for j := range now {
		if i, ok := s.devices[now[j].ASIC]; ok {
			list[i].UsedBytes = int64(now[j].Total.Bytes())
		}
	}
}

// charge charges processes with what they entered themselves, also those that
// died and that nobody swept.
func (s *ttSource) charge(c *charges) {
	if s == nil {
		return
	}
	list, err := s.reader.Devices()
	if err != nil {
		c.warnings = append(c.warnings, fmt.Sprintf("ttmetal: %v", err))
	}
	for j := range list {
		i, ok := s.devices[list[j].ASIC]
		if !ok {
			continue // it came later
		}
		for _, p := range list[j].Processes {
			bytes := int64(p.Used.Bytes())
			c.add(Charge{PID: p.PID, Device: i, LocalBytes: bytes, HostBytes: Unknown})
			c.held[i] += bytes
		}
	}
}

// ttReader reads the same again and again.
type ttReader struct {
	s       *ttSource
	held    map[held]bool
	failing complaint
}

func (r *ttReader) Read(pids []int, dst []Charge) ([]Charge, error) {
	forget(r.held, pids)
	list, err := r.s.reader.Devices()
	if err := r.failing.tell(err); err != nil {
		return dst, err
	}
	bytes := map[held]int64{}
	for j := range list {
		i, ok := r.s.devices[list[j].ASIC]
		if !ok {
			continue
		}
		for _, p := range list[j].Processes {
			bytes[held{p.PID, i}] += int64(p.Used.Bytes())
		}
	}
	for _, pid := range pids {
		for _, i := range r.s.indexes {
			h := held{pid, i}
			b, entered := bytes[h]
			if entered || r.held[h] {
				r.held[h] = true
				dst = append(dst, Charge{PID: pid, Device: h.device, LocalBytes: b, HostBytes: Unknown})
			}
		}
	}
	return dst, nil
}

func (r *ttReader) Close() {}

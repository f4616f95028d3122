package scan

import (
	"slices"

	"github.com/gpumem/gpumem/probe/apple"
)

// Reader asks again and again what devices hold for a few processes. It
// belongs to one goroutine; close it when done.
type Reader interface {
	// Read appends the charges of the processes to dst and returns it. A
	// process that the devices hold nothing for is left out until they once
	// did; then it is charged with 0. One whose bytes are not known is left
	// out. An error is told once for as long as it lasts: what can be read in
	// spite of it is read from the next call on.
	Read(pids []int, dst []Charge) ([]Charge, error)
	Close()
}

// Readers are readers of all sources that are here, each with devices of its
// own.
func (s *Sources) Readers() []Reader {
	var list []Reader
	if s.nvml != nil {
		list = append(list, &nvmlReader{sampler: s.nvml.NewSampler(), held: map[held]bool{}})
	}
	if s.drm != nil || s.kfd != nil && !s.foreign {
		list = append(list, &fileReader{s: s, held: map[held]bool{}})
	}
	if s.tt != nil {
		list = append(list, &ttReader{s: s.tt, held: map[held]bool{}})
	}
	if s.apple != nil && s.apple.only >= 0 {
		list = append(list, &appleReader{s: s.apple, held: map[held]bool{}, open: map[int]*apple.Process{}})
	}
	return list
}

// held is a process that a device has held memory for.
type held struct{ pid, device int }

// forget drops the processes that are not asked for any more: a later one may
// have their pid.
func forget(seen map[held]bool, pids []int) {
	for h := range seen {
		if !slices.Contains(pids, h.pid) {
			delete(seen, h)
		}
	}
}

// complaint is what a reader said of its last error.
type complaint struct{ text string }

// tell is the error, nil when it is the same as last time.
func (c *complaint) tell(err error) error {
	if err == nil {
		c.text = ""
		return nil
	}
	if err.Error() == c.text {
		return nil
	}
	c.text = err.Error()
	return err
}

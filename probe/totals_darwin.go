package probe

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/gpumem/gpumem/probe/apple"
)

// ReadTotals reads the totals of the machine; there are no control groups here.
// Swap grows with need, so that SwapTotal is what there is of it now. A single
// number that cannot be read is Unknown.
func (m Machine) ReadTotals(int) (Totals, error) {
	t := Totals{Unknown, Unknown, Unknown, Unknown, Unknown, Unknown}
	memory, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return t, fmt.Errorf("read memory of the machine: %w", err)
	}
	t.Memory = int64(memory)
	if b, err := unix.SysctlRaw("vm.swapusage"); err == nil {
		if s, err := apple.ParseSwap(b); err == nil {
			t.SwapTotal, t.SwapFree = s.Total, s.Free
		}
	}
	k, err := apple.OpenKernel(apple.Options{})
	if err != nil {
		return t, nil
	}
	if p, err := k.Pages(); err == nil {
		t.Available = p.Free + p.Inactive
	}
	return t, nil
}

package metrics

import (
	"fmt"
	"slices"
	"testing"

	"github.com/gpumem/gpumem/tracer/record"
)

func TestBytesAreChargedToAccountsByDeviceAsFarAsTheyAreKnown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row     map[string]int64
		unified bool
		want    []string
	}{
		"nothing":   {map[string]int64{}, false, nil},
		"the host":  {map[string]int64{record.ColRSS: 7, record.ColFootprint: 9}, false, []string{" host 9"}},
		"rss alone": {map[string]int64{record.ColRSS: 7}, false, []string{" host 7"}},
		"one device": {map[string]int64{record.ColGPU: 100, record.ColLive: 60, record.ColIdle: 30,
			record.ColLiveCount: 4}, false, []string{"0 count 4", "0 idle 30", "0 live 60", "0 untracked 10"}},
		"a driver alone: nobody tells whose the bytes are": {map[string]int64{record.ColGPU: 100}, false,
			[]string{"0 untracked 100"}},
		"a pool alone: what the driver adds is unknown": {map[string]int64{record.ColLive: 60}, false,
			[]string{"0 live 60"}},
		"counters read one after the other: a lag": {map[string]int64{record.ColGPU: 100,
			record.ColLive: 101}, false, []string{"0 live 101", "0 untracked -1"}},
		"two devices": {map[string]int64{"gpu_bytes@0": 100, "gpu_bytes@2": 50, "pool_live_bytes@0": 60,
			"pool_live_bytes@2": 10, record.ColGPU: 150, record.ColLive: 70}, false,
			[]string{"0 live 60", "0 untracked 40", "2 live 10", "2 untracked 40"}},
		"two devices, and a pool that does not tell them apart": {map[string]int64{"gpu_bytes@0": 100,
			"gpu_bytes@1": 50, record.ColGPU: 150, record.ColLive: 70}, false,
			[]string{" live 70", " untracked 80"}},
		"a count of all devices": {map[string]int64{"gpu_bytes@1": 50, record.ColLiveCount: 7}, false,
			[]string{" count 7", "1 untracked 50"}},
		"the same without the sum": {map[string]int64{"gpu_bytes@0": 100, "gpu_bytes@1": 50, record.ColLive: 70},
			false, []string{" live 70", " untracked 80"}},
		"unified memory": {map[string]int64{record.ColGPU: 100, record.ColFootprint: 130}, true,
			[]string{" host 30", "0 untracked 100"}},
		"unified memory of two devices": {map[string]int64{"gpu_bytes@0": 70, "gpu_bytes@1": 30,
			record.ColFootprint: 130}, true, []string{" host 30", "0 untracked 70", "1 untracked 30"}},
	} {
		var got []string
		var row []record.Cell
		for column, v := range c.row {
			row = append(row, record.Cell{Column: column, Value: v})
		}
		for _, p := range accounts(row, c.unified) {
			for a, v := range p.Bytes {
				got = append(got, fmt.Sprintf("%s %s %d", p.Device, a, v))
			}
			if p.Count != nil {
				got = append(got, fmt.Sprintf("%s count %d", p.Device, *p.Count))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

package books

import (
	"context"
	"strconv"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/naming"
	"github.com/gpumem/gpumem/report/metrics"
	"github.com/gpumem/gpumem/tracer/record"
	"github.com/gpumem/gpumem/tracer/ttmetal"
)

// Programs samples the programs of an allocation server for a book of
// metrics, at a fixed rate, so that verdicts do not depend on who scrapes how
// often.
type Programs struct {
	server *ttmetal.Server
	Book   *metrics.Book // what the samples go to
	every  time.Duration
	start  time.Time
	named  map[int]bool
}

// Every is the default time between samples; a sample of a million
// buffers takes about 20 ms.
const Every = time.Second

// NewPrograms samples the programs of s every so often; devices say what there is room for.
func NewPrograms(s *ttmetal.Server, devices map[int32]ttmetal.DeviceInfo, every time.Duration) *Programs {
	limit := func(name, column string, counter ttmetal.Counter,
		of func(ttmetal.DeviceInfo) uint64) metrics.Limit {
		return metrics.Limit{Name: name, Column: column, Device: func(n int) (capacity, used int64, ok bool) {
			d, ok := devices[int32(n)]
			return int64(of(d)), int64(s.Books().Used(int32(n), counter)), ok && of(d) > 0
		}}
	}
	p := &Programs{server: s, every: every, start: time.Now(), named: map[int]bool{},
		Book: metrics.NewBook(metrics.BookOptions{
			Online: true, Complete: true, LostLines: func() uint64 { return s.Counts().Lost },
			Limits: []metrics.Limit{
				limit(record.MemoryDRAM, record.ColDRAM, ttmetal.CountDRAM,
					func(d ttmetal.DeviceInfo) uint64 {
						return d.DRAMBytes
					}),
				limit(record.MemoryL1, record.ColL1, ttmetal.CountL1, func(d ttmetal.DeviceInfo) uint64 {
					return d.L1Bytes
				}),
			},
		})}
	p.Book.SetMeta(record.Meta{IntervalMs: float64(every) / float64(time.Millisecond)})
	return p
}

// Run samples until ctx ends.
func (s *Programs) Run(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	for {
		s.sample()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sample takes one row of every program on the books.
func (s *Programs) sample() {
	type program struct {
		owner       int
		live, count int64
		cells       []record.Cell
	}
	programs := map[int]*program{}
	for _, h := range s.server.Books().Holdings() {
		p := programs[int(h.PID)]
		if p == nil {
			p = &program{owner: int(h.Owner)}
			programs[int(h.PID)] = p
		}
		p.live, p.count = p.live+h.Bytes, p.count+h.Count
		device := "@" + strconv.Itoa(int(h.Device))
		p.cells = append(p.cells, record.Cell{Column: record.ColLive + device, Value: h.Bytes},
			record.Cell{Column: record.ColLiveCount + device, Value: h.Count},
			record.Cell{Column: record.ColDRAM + device, Value: h.DRAM},
			record.Cell{Column: record.ColL1 + device, Value: h.L1})
	}
	ms := float64(time.Since(s.start)) / float64(time.Millisecond)
	for pid, p := range programs {
		if !s.named[pid] {
			s.named[pid] = true
			s.Book.Name(pid, naming.Running(p.owner))
		}
		cells := append(p.cells, record.Cell{Column: record.ColLive, Value: p.live},
			record.Cell{Column: record.ColLiveCount, Value: p.count})
		if p.owner > 0 && (ttmetal.System{}).Gone(int32(p.owner)) {
			s.Book.Dead(pid, ms, cells)
			continue
		}
		s.Book.Row(pid, ms, cells)
	}
	s.Book.Round()
	s.Book.Keep(func(pid int, _ float64) bool { return programs[pid] != nil })
	for pid := range s.named {
		if programs[pid] == nil {
			delete(s.named, pid)
		}
	}
}

package looking

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
)

// version is that of the form of a look in JSON.
const version = 1

// Look is what a process held at one moment. Bytes that are not known are nil.
type Look struct {
	Version int       `json:"look"`
	At      time.Time `json:"at"`
	PID     int       `json:"pid"`
	// Start tells processes of the same PID apart, as the system counts it.
	Start   int64  `json:"start,omitempty"`
	Program string `json:"program"`
	Device  string `json:"device,omitempty"`
	// Step is the program's step, 0 where it is not known.
	Step int64 `json:"step,omitempty"`

	Accounts Accounts `json:"accounts"`
	// Devices are the accounts of each device, where there are several.
	Devices map[int]Accounts `json:"devices,omitempty"`
	// Pool is the allocator's on the device of Composition; nil is unknown.
	Pool *Pool `json:"pool,omitempty"`
	// Categories sum to the allocator's live bytes of CategoriesDevice.
	Categories       map[string]int64 `json:"categories,omitempty"`
	CategoriesDevice int              `json:"categories_device,omitempty"`
	// Incomplete says that the search for categories ended early.
	Incomplete bool            `json:"incomplete,omitempty"`
	Holders    []record.Holder `json:"holders,omitempty"`
	Sites      []record.Site   `json:"sites,omitempty"`

	// Inside is set when the agent looked, Outside says why it did not.
	Inside    bool     `json:"inside"`
	Outside   string   `json:"outside,omitempty"`
	StoppedMs float64  `json:"stopped_ms,omitempty"`
	Stays     []string `json:"stays,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Accounts are bytes by account.
type Accounts struct {
	Device    *int64 `json:"device,omitempty"`
	Live      *int64 `json:"live,omitempty"`
	Idle      *int64 `json:"idle,omitempty"`
	Untracked *int64 `json:"untracked,omitempty"`
	Host      *int64 `json:"host,omitempty"`
}

// Pool is what an allocator keeps.
type Pool struct {
	Live int64 `json:"live_bytes"`
	Idle int64 `json:"idle_bytes"`
	// Usable are the idle bytes of segments without a live block: they serve any
	// request, and a purge gives them back. Fragmented are the others: they serve
	// requests that fit between live blocks.
	Usable     int64 `json:"usable_bytes"`
	Fragmented int64 `json:"fragmented_bytes"`
	// Largest is the largest idle block.
	Largest int64 `json:"largest_bytes"`
}

// Of is the look of a process.
func Of(pid int, start int64, program string, seen tracer.Looked) *Look {
	l := &Look{Version: version, At: seen.At.UTC().Round(time.Millisecond), PID: pid, Start: start,
		Program: program, Inside: seen.Held != nil, Outside: seen.Outside, Stays: seen.Stays,
		StoppedMs: float64(seen.Stopped) / float64(time.Millisecond), Warnings: seen.Warnings}
	unified := false
	if h := seen.Hello; h != nil {
		l.Device = h.Device
		unified = h.UnifiedMemory != nil && *h.UnifiedMemory
	}
	var latest account.Latest
	for _, c := range seen.Cells {
		latest.Take(c)
		if c.Column == record.ColStep {
			l.Step = c.Value
		}
	}
	l.Accounts = accounts(latest.Tells(unified).Shown(latest.Row(unified)))
	if devices := latest.Devices(); len(devices) > 1 {
		l.Devices = map[int]Accounts{}
		for _, n := range devices {
			l.Devices[n] = accounts(latest.Device(n))
		}
	}
	if seen.Held != nil {
		l.Holders, l.Sites = seen.Held.Holders, seen.Held.Sites
		l.compose(seen.Held.Composition)
	}
	return l
}

// compose takes what the allocator told of its blocks.
func (l *Look) compose(c *record.Composition) {
	if c == nil {
		return
	}
	l.Categories, l.CategoriesDevice, l.Incomplete = c.Categories, c.Device, c.Incomplete
	if len(c.Pools) == 0 {
		return
	}
	l.Pool = &Pool{}
	for _, p := range c.Pools {
		l.Pool.Live += p.Live
		l.Pool.Idle += p.Idle
		l.Pool.Usable += p.Whole
		l.Pool.Fragmented += p.Idle - p.Whole
		l.Pool.Largest = max(l.Pool.Largest, p.Largest)
	}
}

func accounts(r account.Row) Accounts {
	return Accounts{Device: bytes(r.Device), Live: bytes(r.Live), Idle: bytes(r.Idle),
		Untracked: bytes(r.Untracked), Host: bytes(r.Host)}
}

func bytes(v float64) *int64 {
	if math.IsNaN(v) {
		return nil
	}
	b := int64(v)
	return &b
}

// Read reads a look that was kept as JSON.
func Read(path string) (*Look, error) {
	const most = 64 << 20
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var l Look
	if err := json.NewDecoder(io.LimitReader(f, most)).Decode(&l); err != nil {
		return nil, fmt.Errorf("%s is not a look that gpumem saved: %w", path, err)
	}
	if l.Version != version {
		return nil, fmt.Errorf("%s is not a look that gpumem saved; gpumem look PID -o FILE keeps one", path)
	}
	return &l, nil
}

// Growth is what a name held at two looks.
type Growth struct {
	Name string `json:"name"`
	// Before and Bytes are nil where that look did not know; of a name that only one
	// look has the other is 0.
	Before *int64 `json:"before_bytes,omitempty"`
	Bytes  *int64 `json:"bytes,omitempty"`
	// Change is the difference, nil where one of them is not known.
	Change *int64 `json:"change_bytes,omitempty"`
}

// Since is what grew between two looks, each list with the largest growth first.
type Since struct {
	Seconds    float64  `json:"seconds"`
	Steps      int64    `json:"steps,omitempty"`
	Accounts   []Growth `json:"accounts"`
	Categories []Growth `json:"categories,omitempty"`
	Holders    []Growth `json:"holders,omitempty"`
	Sites      []Growth `json:"sites,omitempty"`
	// Other is set when the looks are of different processes.
	Other bool `json:"other_process,omitempty"`
}

// Compare is what grew from one look to the next.
func Compare(before, now *Look) *Since {
	s := &Since{Seconds: now.At.Sub(before.At).Seconds(),
		Other: before.PID != now.PID || before.Start != now.Start}
	if before.Step > 0 && now.Step > before.Step {
		s.Steps = now.Step - before.Step
	}
	was := before.Accounts.named()
	for i, a := range now.Accounts.named() {
		a.Before = was[i].Bytes
		if a.Before != nil || a.Bytes != nil {
			s.Accounts = append(s.Accounts, a.changed())
		}
	}
	s.Categories = compare(before.Categories, now.Categories)
	s.Holders = compare(held(before.Holders), held(now.Holders))
	s.Sites = compare(asked(before.Sites), asked(now.Sites))
	return s
}

// named are the accounts in the order in which they are shown.
func (a Accounts) named() []Growth {
	return []Growth{{Name: "device", Bytes: a.Device}, {Name: string(record.AccountLive), Bytes: a.Live},
		{Name: string(record.AccountIdle), Bytes: a.Idle},
		{Name: string(record.AccountUntracked), Bytes: a.Untracked},
		{Name: string(record.AccountHost), Bytes: a.Host}}
}

func (g Growth) changed() Growth {
	if g.Before != nil && g.Bytes != nil {
		d := *g.Bytes - *g.Before
		g.Change = &d
	}
	return g
}

// compare is nil where one of the looks told nothing.
func compare(before, now map[string]int64) []Growth {
	if len(before) == 0 || len(now) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(now))
	for name := range before {
		if _, both := now[name]; !both {
			names = append(names, name)
		}
	}
	var list []Growth
	for _, name := range names {
		was, is := before[name], now[name]
		if was != is {
			list = append(list, Growth{Name: name, Before: &was, Bytes: &is}.changed())
		}
	}
	slices.SortStableFunc(list, func(a, b Growth) int {
		return cmp.Or(cmp.Compare(*b.Change, *a.Change), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func held(list []record.Holder) map[string]int64 {
	sum := map[string]int64{}
	for _, h := range list {
		sum[h.Path] += h.Bytes
	}
	return sum
}

func asked(list []record.Site) map[string]int64 {
	sum := map[string]int64{}
	for _, s := range list {
		sum[s.Site] += s.Bytes
	}
	return sum
}

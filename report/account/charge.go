package account

import (
	"math"

	"github.com/gpumem/gpumem/tracer/record"
)

// columnNames are the columns that accounts are made of; the first deviceColumns
// speak of devices, and may be told for each.
var columnNames = [...]string{
	record.ColGPU, record.ColDriverAllocBytes, record.ColLive, record.ColIdle, record.ColDriverProgramBytes,
	record.ColDriverPoolIdle,
	record.ColFootprint, record.ColRSSAnon, record.ColRSSShmem, record.ColSwap, record.ColRSS,
}

const deviceColumns = 4

// Tells says which columns a recording of a process has, and whether the device's
// bytes are host memory. Of a process that is watched it only ever gains columns.
type Tells struct {
	GPU, Asked, Live, Idle               bool
	Program, PoolIdle                    bool
	Footprint, RSSAnon, Shmem, Swap, RSS bool
	Unified                              bool
}

// Cells are the cells of one row that accounts are made of, in bytes; NaN is
// unknown.
type Cells struct {
	GPU   float64 // what the driver charges the process
	Asked float64 // what the driver was asked for and has not got back
	Live  float64 // handed out by the program's allocator
	Idle  float64 // kept by it
	// Program is what the program's own code asked the driver for and has not given
	// back. It is live where no allocator tells.
	Program float64
	// PoolIdle is what the driver's own pools keep and nobody uses. It is idle where
	// no allocator tells.
	PoolIdle float64

	Footprint, RSSAnon, Shmem, Swap, RSS float64
}

// Unknown are the cells of a row that tells nothing.
func Unknown() Cells {
	n := math.NaN()
	return Cells{n, n, n, n, n, n, n, n, n, n, n}
}

// told are the fields of Tells, and values those of Cells, in the order of
// columnNames.
func (t *Tells) told() [len(columnNames)]*bool {
	return [...]*bool{&t.GPU, &t.Asked, &t.Live, &t.Idle, &t.Program, &t.PoolIdle, &t.Footprint, &t.RSSAnon,
		&t.Shmem, &t.Swap, &t.RSS}
}

func (c *Cells) values() [len(columnNames)]*float64 {
	return [...]*float64{&c.GPU, &c.Asked, &c.Live, &c.Idle, &c.Program, &c.PoolIdle, &c.Footprint,
		&c.RSSAnon, &c.Shmem, &c.Swap, &c.RSS}
}

// Row is one row's bytes by account; NaN is unknown.
type Row struct {
	Device                float64
	Live, Idle, Untracked float64
	Host                  float64
}

// Owned reports whether somebody tells whose the device's bytes are.
func (t Tells) Owned() bool { return t.Live || t.Program }

// HasDevice reports whether somebody tells what the device holds for the process.
func (t Tells) HasDevice() bool { return t.GPU || t.Asked }

// HasHost reports whether somebody tells the host memory.
func (t Tells) HasHost() bool { return t.Footprint || t.RSSAnon || t.RSS }

// Charge divides the cells of a row between the accounts.
func (t Tells) Charge(c Cells) Row {
	r := Row{Device: t.device(c), Live: t.live(c), Idle: t.idle(c)}
	r.Untracked = r.Device
	if t.Owned() {
		r.Untracked -= r.Live
	}
	if t.Live && t.Idle || t.poolsTell() || t.onlyIdle() {
		r.Untracked -= r.Idle
	}
	r.Host = t.footprint(c)
	if t.Unified && (t.HasDevice() || t.Owned() || t.onlyIdle()) {
		r.Host -= t.held(c)
	}
	return r
}

// Shown is the row for people and dashboards: host memory on unified memory is
// unknown where it would be less than nothing, since part of the device's bytes
// was not touched yet and is not in the footprint.
func (t Tells) Shown(r Row) Row {
	if t.Unified && r.Host < 0 {
		r.Host = math.NaN()
	}
	return r
}

// live is what the program's allocator tells, else what the program itself asked of
// the driver.
func (t Tells) live(c Cells) float64 {
	if t.Live {
		return c.Live
	}
	return told(t.Program, c.Program)
}

// idle is what the program's allocator tells, else what the driver's own pools keep.
func (t Tells) idle(c Cells) float64 {
	if t.poolsTell() {
		return c.PoolIdle
	}
	return told(t.Idle, c.Idle)
}

// poolsTell reports whether the driver's own pools say what is idle: no allocator of
// the program does.
func (t Tells) poolsTell() bool { return t.Program && t.PoolIdle && !t.Live && !t.Idle }

// onlyIdle reports whether the allocator tells what it keeps idle and nobody what is
// live. What is live is then a part of what the driver charges beyond it.
func (t Tells) onlyIdle() bool { return t.Idle && !t.Owned() }

func told(known bool, v float64) float64 {
	if !known {
		return math.NaN()
	}
	return v
}

// device is the driver's counter, else what it was asked for.
func (t Tells) device(c Cells) float64 {
	if t.GPU {
		return c.GPU
	}
	if t.poolsTell() {
		return told(t.Asked, c.Asked+c.PoolIdle)
	}
	return told(t.Asked, c.Asked)
}

// footprint is what the machine gets back when the process ends, or what is
// nearest to it of what is told. Clean pages of files are the system's.
func (t Tells) footprint(c Cells) float64 {
	switch {
	case t.Footprint:
		return c.Footprint
	case t.RSSAnon:
		f := c.RSSAnon
		if t.Shmem {
			f += c.Shmem
		}
		if t.Swap {
			f += c.Swap
		}
		return f
	}
	return told(t.RSS, c.RSS)
}

// held is what the device holds of a footprint that its bytes are part of: what
// the driver says, else what the allocator has; NaN when nobody tells.
func (t Tells) held(c Cells) float64 {
	switch {
	case t.HasDevice():
		return t.device(c)
	case t.Live && t.Idle:
		return c.Live + c.Idle
	case t.onlyIdle():
		return c.Idle
	}
	return t.live(c)
}

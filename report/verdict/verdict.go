package verdict

import (
	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/cause"
	"github.com/gpumem/gpumem/report/driven"
	"github.com/gpumem/gpumem/report/finding"
	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// Class is a verdict: whose memory grows.
type Class = account.Class

// The verdicts.
const (
	None         = account.None
	AppLeak      = account.AppLeak
	PoolGrowth   = account.PoolGrowth
	DriverGrowth = account.DriverGrowth
	HostGrowth   = account.HostGrowth
	Undecided    = account.Undecided
)

// Tier is how sure a verdict is, from its calibrated confidence.
type Tier string

// The tiers: confirmed from .95, likely from .8, suspected from .6.
const (
	Confirmed     Tier = "confirmed"
	Likely        Tier = "likely"
	Suspected     Tier = "suspected"
	TierUndecided Tier = "undecided"
)

// Account is one of the four that every byte of growth is charged to.
type Account = record.Account

// The accounts.
const (
	Live      = record.AccountLive
	Idle      = record.AccountIdle
	Untracked = record.AccountUntracked
	Host      = record.AccountHost
)

// schema is the version of verdict.json: 2 has answer and next.
const schema = 2

// Verdict is verdict.json. Pointers and omitted fields are unknown, never 0.
type Verdict struct {
	Schema     int     `json:"schema"` // 2
	Verdict    Class   `json:"verdict"`
	Tier       Tier    `json:"tier"`
	Confidence float64 `json:"confidence"`
	// Answer is one sentence to paste into a ticket: whose the growth is and how
	// much, and as far as they are known its holder, its line and its cause. Next is
	// what to do first; empty where nothing is to be done.
	Answer string `json:"answer"`
	Next   string `json:"next,omitempty"`
	// Summary is what the sums say, without who holds it: "class (tier, 98 %): claim"
	Summary     string       `json:"summary"`
	Claim       string       `json:"-"` // the answer without class and tier
	Holders     []HolderRow  `json:"holders,omitempty"`
	Sites       []SiteRow    `json:"sites,omitempty"`
	PoolSites   bool         `json:"-"`               // Sites are where a pool took memory from the driver
	Stays       []SiteRow    `json:"stays,omitempty"` // what stayed of what lines asked for in windows: see staysOf
	Clones      []CloneRow   `json:"clones,omitempty"`
	Parts       []PartRow    `json:"parts,omitempty"` // of a growth that several holders share
	Causes      []Cause      `json:"causes,omitempty"`
	DrivenBy    *DrivenBy    `json:"driven_by,omitempty"`
	Window      Window       `json:"window"`
	Accounts    []AccountRow `json:"accounts"`
	Measured    *Measured    `json:"measured,omitempty"`
	Findings    []FindingRow `json:"findings,omitempty"`
	Experiments []Experiment `json:"experiments,omitempty"`
	Forecast    *Forecast    `json:"forecast,omitempty"`
	// OOM is why the program ran out of memory; nil when it did not.
	OOM *peak.OOM `json:"oom,omitempty"`
	// Peak is the replay of a window of profiled steps, Composition what live memory
	// was made of at the end; nil where nothing told.
	Peak        *peak.Peak        `json:"peak,omitempty"`
	Composition *peak.Composition `json:"composition,omitempty"`
	// MoreMinutes is how much longer a run must be to settle an undecided.
	MoreMinutes *float64 `json:"more_minutes,omitempty"`
	// RestsOn is the kind of evidence that gave the verdict.
	RestsOn Evidence `json:"rests_on,omitempty"`
	// PID and Processes are set when the run holds several processes: the one
	// the verdict is about, and the verdict on each.
	PID       int          `json:"pid,omitempty"`
	Processes []ProcessRow `json:"processes,omitempty"`
	// Tree is what all of them together changed by; nil of one process.
	Tree *Tree `json:"tree,omitempty"`
	// LeftBehind are processes that still ran when the program had ended.
	LeftBehind []LeftRow `json:"left_behind,omitempty"`
	// Background is set when growth goes on while steps pause.
	Background bool     `json:"background,omitempty"`
	Missing    []string `json:"missing,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`

	// Unified is what was decided on device bytes being host memory, by the user's
	// word, run.json's, or the data; empty in a verdict that was read from a file.
	Unified account.Unified `json:"-"`

	scoreKind string // see Score
	score     float64
}

// Evidence is a kind of evidence.
type Evidence = finding.Evidence

// The kinds of evidence.
const (
	ByTrend     = finding.ByTrend
	ByLeftover  = finding.ByLeftover
	ByMagnitude = finding.ByMagnitude
	ByRefill    = finding.ByRefill
	ByProcesses = finding.ByProcesses
	ByObjects   = finding.ByObjects
	ByHandles   = finding.ByHandles // in findings alone
	ByHazards   = finding.ByHazards // in findings alone, as it is no growth
)

// ProcessRow is the verdict on one of several processes.
type ProcessRow struct {
	PID        int     `json:"pid"`
	Rank       *int    `json:"rank,omitempty"` // in its job
	Name       string  `json:"name,omitempty"` // as recorded: what it calls itself, or its command
	Verdict    Class   `json:"verdict"`
	Tier       Tier    `json:"tier"`
	Confidence float64 `json:"confidence"`
	Bytes      *int64  `json:"bytes,omitempty"` // that it held when it was last seen
}

// Window is the part of the run that was judged.
type Window struct {
	FromMs   float64 `json:"from_ms"`
	ToMs     float64 `json:"to_ms"`
	WarmupMs float64 `json:"warmup_ms"`
	Samples  int     `json:"samples"`
	Steps    int64   `json:"steps"`
}

// AccountRow is one account's part of the growth. ChangeBytes is what was read:
// the last sample less the first of the judged window, from the end of the
// warm-up on. The changes of all accounts sum exactly to Measured.Bytes. Bytes is
// the growth that the trend test fitted over the window, with its 95 % interval;
// they need not sum. Count is by how much the number of live handles grew, in the row live,
// and that of the driver's handles of the kind that grows, in the row untracked.
// LeftoverBytes is what stayed between the marks baseline and released.
type AccountRow struct {
	Account             Account          `json:"account"`
	Shape               trend.Shape      `json:"shape"`
	ChangeBytes         *int64           `json:"change_bytes,omitempty"`
	Bytes               *int64           `json:"bytes,omitempty"`
	BytesLow            *int64           `json:"bytes_low,omitempty"`
	BytesHigh           *int64           `json:"bytes_high,omitempty"`
	Count               *int64           `json:"count,omitempty"`
	Share               *float64         `json:"share,omitempty"`
	PerSecond           *series.Interval `json:"per_second,omitempty"`
	PerStep             *series.Interval `json:"per_step,omitempty"`
	DetectablePerSecond *float64         `json:"detectable_per_second,omitempty"`
	LeftoverBytes       *int64           `json:"leftover_bytes,omitempty"`
	LeftoverCount       *int64           `json:"leftover_count,omitempty"`
}

// Measured is by how much the process as a whole changed over the span that the
// accounts' ChangeBytes are of: the footprint, and the device's bytes beside it
// where they are not part of it. A part that nobody read is nil.
type Measured struct {
	FromMs         *float64 `json:"from_ms,omitempty"` // nil without times
	ToMs           *float64 `json:"to_ms,omitempty"`
	Bytes          int64    `json:"bytes"`
	FootprintBytes *int64   `json:"footprint_bytes,omitempty"`
	DeviceBytes    *int64   `json:"device_bytes,omitempty"`
}

// DrivenBy is the unit of work that explains the growth, and its cost.
type DrivenBy = driven.By

// Cause is a named cause from the catalogue, with its evidence.
type Cause = cause.Cause

// SiteRow, HolderRow and Experiment are the recorded ones, as they stand.
type (
	SiteRow    = record.Site
	CloneRow   = record.Clone
	HolderRow  = record.Holder
	Experiment = record.Receipt
)

// Forecast says when a limit is reached at the present rate.
type Forecast struct {
	Limit         string  `json:"limit"`
	CapacityBytes int64   `json:"capacity_bytes"`
	P10           float64 `json:"p10_s"`
	P50           float64 `json:"p50_s"`
	P90           float64 `json:"p90_s"`
}

// Options are the thresholds a user may set. The zero value means defaults.
type Options struct {
	// LeftoverBytes: a leftover strictly above it is a finding. Default 1 MiB.
	LeftoverBytes int64
	// Unified says whether GPU bytes are host memory: the empty one is UnifiedAuto,
	// by which run.json is asked first, and the data else.
	Unified account.Unified
}

// Defaults of Options.
const defaultLeftover = mib

func (o Options) leftover() float64 {
	if o.LeftoverBytes > 0 {
		return float64(o.LeftoverBytes)
	}
	return defaultLeftover
}

// Interval is an estimate with its 95 % interval.
type Interval = series.Interval

// PartRow is what one holder has of a growth that several share.
type PartRow struct {
	Holder  string  `json:"holder"`        // its path
	Share   float64 `json:"share"`         // of the growth; those of all parts are 1 at most
	Bytes   int64   `json:"bytes"`         // that it grew by, an estimate
	Without int64   `json:"without_bytes"` // by how much the account would have grown without it
}

// LeftRow is a process that the program left behind, with what it held when it was
// last seen, in bytes; nil is unknown.
type LeftRow struct {
	PID            int    `json:"pid"`
	Name           string `json:"name,omitempty"`
	FootprintBytes *int64 `json:"footprint_bytes,omitempty"`
	DeviceBytes    *int64 `json:"device_bytes,omitempty"`
}

// Tree is by how much all processes of a run together changed between two times, in
// bytes: what each held at the end less what it held at the beginning. A process held
// nothing before it was first seen, and nothing after it was last seen. The accounts
// sum exactly to Bytes.
type Tree struct {
	FromMs         float64     `json:"from_ms"`
	ToMs           float64     `json:"to_ms"`
	Processes      Living      `json:"processes"`
	Bytes          int64       `json:"bytes"`
	FootprintBytes *int64      `json:"footprint_bytes,omitempty"`
	DeviceBytes    *int64      `json:"device_bytes,omitempty"`
	Accounts       []TreeShare `json:"accounts"`
	// Untold is how many processes were there at one of the times and told nothing.
	Untold int `json:"untold,omitempty"`
}

// Living is how many processes were there at the beginning and the end of a span, and
// the most at any moment of the run.
type Living struct {
	First int `json:"first"`
	Last  int `json:"last"`
	Most  int `json:"most"`
}

// TreeShare is by how much one account of all processes together changed.
type TreeShare struct {
	Account     Account `json:"account"`
	ChangeBytes int64   `json:"change_bytes"`
}

// FindingRow is what one kind of evidence says by itself. Score is how far it is
// believed, before it is weighed against the others.
type FindingRow struct {
	Evidence Evidence `json:"evidence"`
	Account  Account  `json:"account,omitempty"` // empty where it is about none
	Class    Class    `json:"class"`
	Score    float64  `json:"score"`
	Why      string   `json:"why,omitempty"`
}

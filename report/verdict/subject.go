package verdict

import (
	"math"
	"sort"

	"github.com/gpumem/gpumem/report/account"
	"github.com/gpumem/gpumem/report/internal/stat"
	"github.com/gpumem/gpumem/report/trend"
	"github.com/gpumem/gpumem/tracer/record"
)

// subject is one process under judgement.
type subject struct {
	run  *record.Run
	o    Options
	pid  int
	cond trend.Conditions
	led  *ledger // the rows that trend is judged on
	// whole is every row of the process, before cuts.
	whole *ledger
	grow  [keys]trend.Growth
	left  leftovers
	touch *record.FirstTouch // the last one, nil when nobody looked

	records    driverRecords      // set before the class is
	handleKind account.HandleKind // of keyHandles
	tested     []float64          // p-values of all kinds of handles

	class      Class
	primary    key // whose growth gave the verdict; keys when none did
	restsOn    Evidence
	confidence float64
	share      [len(accountKeys)]Interval // parts of the growth, when shared
	shared     bool
	agreement  float64 // part of the bootstrap's draws that give the class
	raw        float64 // the confidence before calibration
	short      bool    // too few rows for a trend
	loading    bool    // the program was reading its code in up to the end
	why        string  // reason of an undecided
	lacking    bool    // undecided for what was not recorded: more time would not settle it
	warn       []string
}

// subjects cleans and judges every process of a run, in order of pid.
func subjects(run *record.Run, o Options, c trend.Conditions) []*subject {
	var out []*subject
	for _, k := range load(run) {
		s := &subject{run: run, o: o, cond: c, pid: k.pid, primary: keys, class: Undecided}
		s.judge(k)
		out = append(out, s)
	}
	return out
}

// judge runs the whole engine on one process.
func (s *subject) judge(k *track) {
	u := s.o.Unified.Of(s.run.Meta)
	k.stepsFromMarks(s.run.Events, s.pid)
	s.whole = newLedger(k, u)
	s.left = findLeftovers(s.whole, s.run.Events, s.pid)
	s.touch = s.firstTouch()
	from, to := s.trendRows(k)
	judged := k.rows(from, to).withoutSetup(s.run.Events, s.pid).epoch()
	judged.closeGaps()
	judged = judged.teardown().untilWorkEnds()
	judged = judged.fromFirstStep()
	judged, s.loading = judged.afterLoading()
	s.led = newLedger(judged, u)
	s.short = len(judged.clock) < trend.LeastRows
	for i := key(0); i < keys; i++ {
		s.grow[i] = s.led.Examine(s.led.series[i], s.led.question(i, s.cond))
	}
	s.examineHandles()
	s.classify()
	if s.loading {
		s.class, s.primary, s.restsOn, s.shared = Undecided, keys, "", false
		s.why = "the program was reading its code in up to the end, which is no growth of its work"
	}
	s.weighRefills()
	s.weighLeftovers()
	s.magnitude()
	s.calibrate()
	s.weighExperiments()
}

// stepsFromMarks makes the step column from step marks when there is none.
func (k *track) stepsFromMarks(events []record.Event, pid int) {
	if k.Step != nil {
		return
	}
	n, next := 0., 0
	step := make([]float64, len(k.clock))
	for i, t := range k.clock {
		for ; next < len(events) && events[next].TMs/1000 <= t; next++ {
			e := &events[next]
			if e.Kind != record.KindStep || e.PID != 0 && pid != 0 && e.PID != pid {
				continue
			}
			n++
			if e.Step > 0 {
				n = float64(e.Step)
			}
		}
		step[i] = n
	}
	if n > 0 {
		k.Step = step
	}
}

// delta is the smallest growth of a key that matters over the window.
func (l *ledger) delta(i key) float64 {
	level := math.Abs(middle(l.series[i]))
	switch i {
	case keyCount, keyRefs, keyHandles:
		return math.Max(16, .001*level)
	case keyInFlight:
		return 8
	case keyUntracked, keyDevice:
		return math.Max(math.Max(mib, 2*math.Min(l.quantum, 4*mib)), .001*level)
	case keyHost, keyHeap:
		return math.Max(mib, .002*level)
	default:
		return math.Max(mib, .001*level)
	}
}

// question is what the series of a key is asked.
func (l *ledger) question(i key, c trend.Conditions) trend.Question {
	return trend.Question{Delta: l.delta(i), Share: share(i), Net: net(i), Conditions: c}
}

// share is the part of a block that stands for it: the troughs, or the median
// for the difference of counters that are read one after the other.
func share(i key) float64 {
	if i == keyUntracked {
		return 0
	}
	return trend.TroughShare
}

// net is the part of a growth that must be left when what fell is counted in.
// A pool near the device's end gives everything back at once and begins again:
// its falls are not the end of a retention.
func net(i key) float64 {
	if i == keyIdle {
		return .2
	}
	return .5
}

// middle is the median of a sample of v; 0 when nothing is known.
func middle(v []float64) float64 {
	s := make([]float64, 0, 1024)
	for i := 0; i < len(v); i += 1 + len(v)/1024 {
		if v[i] == v[i] {
			s = append(s, v[i])
		}
	}
	return stat.Median(s)
}

// trendRows are the rows in which the program worked: from the first mark
// baseline, if it made one, to the last mark released, the first experiment
// or its exit, whichever comes first.
func (s *subject) trendRows(k *track) (from, to int) {
	begin, end := math.Inf(-1), math.Inf(1)
	for _, e := range s.run.Events {
		if e.PID != 0 && s.pid != 0 && e.PID != s.pid {
			continue
		}
		t := e.TMs / 1000
		switch {
		case e.Kind == record.KindPhase && e.Name == record.PhaseBaseline && math.IsInf(begin, -1):
			begin = t
		case e.Kind == record.KindReceipt, e.Kind == record.KindPhase && e.Name == record.PhaseExiting:
			end = math.Min(end, t)
		}
	}
	if s.left.last > 0 {
		end = math.Min(end, s.left.last)
	}
	from = sort.SearchFloat64s(k.clock, begin)
	to = sort.Search(len(k.clock), func(i int) bool { return k.clock[i] > end })
	if from >= to {
		return 0, len(k.clock)
	}
	return from, to
}

// withoutSetup leaves out rows in phases named after setting up. It keeps all
// rows when nothing else would be left.
func (k *track) withoutSetup(events []record.Event, pid int) *track {
	keep := make([]int, 0, len(k.clock))
	next, setup := 0, false
	for i, t := range k.clock {
		for next < len(events) && events[next].TMs/1000 <= t {
			if e := events[next]; e.Kind == record.KindPhase && (e.PID == 0 || pid == 0 || e.PID == pid) {
				_, setup = record.SetupWord(e.Name)
			}
			next++
		}
		if !setup {
			keep = append(keep, i)
		}
	}
	if len(keep) < trend.MinBlocks || len(keep) == len(k.clock) {
		return k
	}
	out := *k
	out.T, out.clock = pick(k.T, keep), pick(k.clock, keep)
	if k.Step != nil {
		out.Step = pick(k.Step, keep)
	}
	out.cols = make(map[string][]float64, len(k.cols))
	for n, v := range k.cols {
		out.cols[n] = pick(v, keep)
	}
	return &out
}

// fromFirstStep leaves out the rows before the first step: a program sets
// itself up there. It keeps everything when too little would be left.
func (k *track) fromFirstStep() *track {
	if k.Step == nil {
		return k
	}
	i := 0
	for i < len(k.Step) && k.Step[i] == k.Step[0] {
		i++
	}
	if i <= 1 || len(k.Step)-i < 60 {
		return k
	}
	return k.rows(i-1, len(k.clock))
}

// worse orders processes: a growth before undecided before none; among
// growths the surer, then the larger.
func (s *subject) worse(t *subject) bool {
	if a, b := gravity(s.class), gravity(t.class); a != b {
		return a > b
	}
	if s.confidence != t.confidence && s.class != None {
		return s.confidence > t.confidence
	}
	return s.size() > t.size()
}

func gravity(c Class) int {
	switch c {
	case None:
		return 0
	case Undecided:
		return 1
	}
	return 2
}

func (s *subject) tier() Tier {
	switch {
	case s.class == Undecided || s.confidence < .6:
		return TierUndecided
	case s.confidence >= .95:
		return Confirmed
	case s.confidence >= .8:
		return Likely
	}
	return Suspected
}

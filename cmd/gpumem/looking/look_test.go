package looking_test

import (
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/looking"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/agent"
	"github.com/gpumem/gpumem/tracer/record"
)

const mib = 1 << 20

// seen is a training with so many MiB in its list of losses.
func seen(at time.Time, losses, step int64) tracer.Looked {
	live := (900 + losses) * mib
	return tracer.Looked{
		At: at,
		Cells: []record.Cell{{Column: record.ColFootprint, Value: 300 * mib},
			{Column: record.ColGPU, Value: live + 500*mib}, {Column: record.ColLive, Value: live},
			{Column: record.ColIdle, Value: 100 * mib}, {Column: record.ColStep, Value: step}},
		Hello: &agent.Hello{Device: "a device"},
		Held: &agent.Held{
			Holders: []record.Holder{{Path: "t.model", Bytes: 300 * mib, Count: 3},
				{Path: "list t.losses", Bytes: losses * mib, Count: losses, Graphs: true,
					Filled: "/srv/t.py:9 step"}},
			Composition: &record.Composition{
				Categories: map[string]int64{"parameters": 300 * mib, "optimizer state": 600 * mib,
					"other tensors of Python": losses * mib},
				Pools: []record.Pool{{Kind: "large", Live: live, Idle: 90 * mib, Whole: 60 * mib, Largest: 40 * mib},
					{Kind: "small", Idle: 10 * mib, Largest: mib}},
			},
		},
	}
}

func TestALookSaysWhatIsHeldByAccountCategoryAndHolder(t *testing.T) {
	t.Parallel()
	l := looking.Of(7, 1, "t.py", seen(time.Now(), 20, 100))
	if a := l.Accounts; *a.Device != 1420*mib || *a.Live != 920*mib || *a.Idle != 100*mib ||
		*a.Untracked != 400*mib || *a.Host != 300*mib {
		t.Errorf("accounts %v %v %v %v %v", *a.Device, *a.Live, *a.Idle, *a.Untracked, *a.Host)
	}
	if p := *l.Pool; p != (looking.Pool{Live: 920 * mib, Idle: 100 * mib, Usable: 60 * mib, Fragmented: 40 * mib,
		Largest: 40 * mib}) {
		t.Errorf("the pool %+v", p)
	}
	text := l.Text(nil)
	for _, want := range []string{"t.py (process 7) holds 1.39 GiB of device memory: 920 MiB in use",
		"optimizer state", "BYTES COUNT HOLDER FILLED AT",
		"20 list t.losses, each with its autograd graph /srv/t.py:9 step",
		"60.0 MiB are whole segments"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if order := strings.Index(text, "600 MiB") < strings.Index(text, "300 MiB  parameters"); !order {
		t.Errorf("the categories are in no order:\n%s", text)
	}
}

func TestTwoLooksSayWhatGrew(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	a := looking.Of(7, 1, "t.py", seen(begin, 20, 100))
	b := looking.Of(7, 1, "t.py", seen(begin.Add(10*time.Second), 50, 130))
	s := looking.Compare(a, b)
	if s.Other || s.Steps != 30 || len(s.Holders) != 1 || *s.Holders[0].Change != 30*mib {
		t.Errorf("%+v", s)
	}
	text := strings.Join(strings.Fields(b.Text(s)), " ")
	for _, want := range []string{"has grown by 30.0 MiB of device memory in use in 10.0 s, 30 steps",
		"list t.losses grew most (30.0 MiB)", "+30.0 MiB 950 MiB live", "0 300 MiB host memory",
		"+30.0 MiB 1.42 GiB device memory"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, b.Text(s))
		}
	}
	if s := looking.Compare(a, looking.Of(7, 2, "t.py", seen(begin, 20, 1))); !s.Other {
		t.Error("a later process with the same number is taken for the same")
	}
}

func TestWhatALookDoesNotKnowIsAbsent(t *testing.T) {
	t.Parallel()
	l := looking.Of(7, 1, "native", tracer.Looked{Outside: "no",
		Cells: []record.Cell{{Column: record.ColGPU, Value: 8 * mib}}})
	if a := l.Accounts; a.Live != nil || a.Idle != nil || a.Host != nil || *a.Device != 8*mib || l.Pool != nil {
		t.Errorf("%+v", a)
	}
	text := l.Text(nil)
	for _, want := range []string{"what it is used for cannot be seen from outside",
		"note: looked at from outside only: no"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	s := looking.Compare(l, looking.Of(7, 1, "native", seen(time.Now(), 20, 1)))
	for _, g := range s.Accounts {
		if g.Name == "live" && g.Change != nil {
			t.Errorf("it grew by %d from what nobody knew", *g.Change)
		}
	}
}

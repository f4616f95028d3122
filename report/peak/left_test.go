package peak_test

import (
	"testing"

	"github.com/gpumem/gpumem/report/peak"
	"github.com/gpumem/gpumem/tracer/record"
)

// Each of three steps keeps a block of 1 KiB (line 7), replaces one that the step before
// made (line 8) and uses one for a moment (line 9).
const keeping = `{"part":0,"parts":1,"steps":3,"boundaries":[10,20,30],
	"frames":["/srv/train.py:7 keep","/srv/train.py:8 state","/srv/train.py:9 use"],"stacks":[[0],[1],[2]],
	"live":[[100,1024,-1],[110,1024,-1],[120,1024,-1],[220,512,-1]],
	"events":[[100,1024,1,0],[200,512,2,1],[300,512,3,2],[300,-512,4,-1],
		[110,1024,11,0],[210,512,12,1],[200,-512,13,-1],
		[120,1024,21,0],[220,512,22,1],[210,-512,23,-1]]}`

func TestWhatStepsLeaveBehindIsWhatTheNextDoesNotReplace(t *testing.T) {
	t.Parallel()
	event := record.Event{Kind: record.KindWindow, PID: 7, Detail: []byte(keeping)}
	p, why := peak.OfWindow(&record.Run{Events: []record.Event{event}})
	if p == nil {
		t.Fatal(why)
	}
	if p.LeftSteps != 2 || p.LeftBytes != 2048 || len(p.Left) != 1 || p.Left[0].Site != "/srv/train.py:7 keep" ||
		p.Left[0].Count != 2 {
		t.Errorf("%d bytes of %d steps, %+v", p.LeftBytes, p.LeftSteps, p.Left)
	}
	p, _ = peak.OfWindow(window(t))
	if p.LeftSteps != 2 || p.LeftBytes != 0 {
		t.Errorf("a model that keeps nothing left %d bytes in %d steps: %+v", p.LeftBytes, p.LeftSteps, p.Left)
	}
}

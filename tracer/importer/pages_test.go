package importer

import "testing"

func TestPagesOfTheSameElementAreKeptOnceAndChangeAlone(t *testing.T) {
	t.Parallel()
	p := pages[int]{same: 7}
	const n = 5 * pageLen
	for i := range n {
		p.add(7)
		if i == 3*pageLen+1 {
			p.set(i, 8)
		}
	}
	if &p.all[0][0] != &p.all[1][0] || &p.all[0][0] == &p.all[4][0] {
		t.Error("equal pages are kept twice, or the last one is shared while it fills")
	}
	p.set(pageLen+3, 9)
	for i := range n {
		want := 7
		switch i {
		case pageLen + 3:
			want = 9
		case 3*pageLen + 1:
			want = 8
		}
		if p.at(i) != want {
			t.Fatalf("element %d is %d, want %d", i, p.at(i), want)
		}
	}
}

func TestADictThatWasTakenIsEmptyWhenItIsRecalled(t *testing.T) {
	t.Parallel()
	p := newPickle(newReader("\x80\x04]\x94(}\x94(\x8c\x01aK\x01uh\x01}\x94(\x8c\x01bK\x01ue\x68\x01\x85."))
	taken := 0
	p.takeDict = func(kv []value) (value, bool) {
		taken++
		return value(taken)<<4 | kindTaken, taken == 1
	}
	root, err := p.load()
	if err != nil || taken != 2 {
		t.Fatal(err, taken)
	}
	if again := p.list(root)[0]; again.kind() != kindDict || len(p.inside(again)) != 0 {
		t.Errorf("recalled %v", again)
	}
	if err := p.extend(takenDict, kindDict, []value{1, 2}); err != nil || len(p.inside(takenDict)) != 0 {
		t.Errorf("what stands for all taken dicts has changed: %v", err)
	}
}

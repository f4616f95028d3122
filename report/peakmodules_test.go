package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/peak"
)

// layers are a model of so many layers that have as much as each other, and a head.
func layers(n int) (owned []peak.Owned, whole int64) {
	for i := range n {
		path := fmt.Sprintf("transformer.h.%d.mlp", i)
		owned = append(owned, peak.Owned{Module: path, Category: "activations", Bytes: 4 * mib,
			Site: "model.py:9 forward"}, peak.Owned{Module: path, Category: "parameters", Bytes: mib})
		whole += 5 * mib
	}
	return append(owned, peak.Owned{Module: "head", Category: "buffers", Bytes: mib}), whole + mib
}

func TestLayersOfAModelAreOneRow(t *testing.T) {
	t.Parallel()
	owned, whole := layers(48)
	table := modulesTable("By module.", owned, whole+7*mib)
	want := [][]string{{"transformer.h.*.mlp", "48", "192 MiB", "48.0 MiB", "240 MiB"},
		{"head", "1", "0 B", "0 B", "1 MiB"}}
	if !slices.EqualFunc(table.rows, want, slices.Equal) {
		t.Errorf("rows %q", table.rows)
	}
	want = [][]string{{"no module", "", "", "", "7 MiB"}, {"sum", "", "", "", "248 MiB"}}
	if !slices.EqualFunc(table.foot, want, slices.Equal) {
		t.Errorf("foot %q", table.foot)
	}
}

func TestALayerThatHasMoreThanItsLikeHasARowOfItsOwn(t *testing.T) {
	t.Parallel()
	owned, whole := layers(6)
	owned[6].Bytes += 50 * mib // layer 3
	table := modulesTable("By module.", owned, whole+50*mib)
	if table.rows[0][0] != "transformer.h.3.mlp" || len(table.rows) != 7 {
		t.Errorf("rows %q", table.rows)
	}
}

func TestRowsByModuleAreFewAndSumToTheWhole(t *testing.T) {
	t.Parallel()
	var owned []peak.Owned
	for i := range 400 {
		name := string(rune('a'+i%20)) + string(rune('a'+i/20))
		owned = append(owned, peak.Owned{Module: name + ".inner." + name, Category: "parameters", Bytes: mib})
	}
	table := modulesTable("By module.", owned, 400*mib)
	if len(table.rows) != mostModules || !strings.HasPrefix(table.rows[len(table.rows)-1][0], "others") ||
		table.rows[len(table.rows)-1][1] != fmt.Sprint(400-mostModules+1) || table.foot[0][3] != "400 MiB" {
		t.Errorf("%d rows, %q", len(table.rows), table.rows[len(table.rows)-1])
	}
	if modulesTable("By module.", nil, mib) != nil {
		t.Error("a table without modules")
	}
}

func TestAnIcicleByModuleEndsInLinesAndHasAllThatLived(t *testing.T) {
	t.Parallel()
	owned, whole := layers(2)
	ic := modulesIcicle(&peak.Peak{Bytes: whole + 5*mib, Modules: owned})
	var names []string
	for _, b := range ic.boxes {
		names = append(names, b.name)
	}
	for _, want := range []string{"transformer", "h", "0.mlp", "activations model.py line 9 forward", "no module"} {
		if !slices.Contains(names, want) {
			t.Errorf("no box %q in %q", want, names)
		}
	}
	if ic.boxes[0].wide != 1 || ic.levels > maxLevels {
		t.Errorf("%+v, %d levels", ic.boxes[0], ic.levels)
	}
}

func TestWhyActivationsHaveNoModuleIsSaid(t *testing.T) {
	t.Parallel()
	owned, whole := layers(1)
	blocks := modulesBlocks(&peak.Peak{Bytes: whole, Modules: owned, NoModules: "torch.compile"})
	if n := len(blocks); n != 2 || !strings.Contains(blocks[1].text,
		"Activations have no module: the program uses torch.compile") {
		t.Errorf("%+v", blocks)
	}
}

func TestTheCostOfAWindowSaysWhatItWasFor(t *testing.T) {
	t.Parallel()
	p := &peak.Peak{Cost: peak.Cost{SwitchMs: 65, PackMs: 20, StepsMs: 300, UsualMs: ptr(280.), ScanMs: ptr(40.),
		SnapshotMs: ptr(17.)}}
	want := "The window took 65.0 ms of the program's time to switch (40.0 ms of it to find the tensors, 17.0 ms for " +
		"the allocator's list) and 20.0 ms beside it to pack; its steps took 0.30 s, as many before it 0.28 s."
	if got := costText(p); got != want {
		t.Errorf("got %q", got)
	}
}

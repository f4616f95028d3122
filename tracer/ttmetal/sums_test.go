package ttmetal

import (
	"strings"
	"testing"
	"time"
)

func TestSumsNameProcessesAndCapacitiesAndPrintNothing(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, TrustPIDs: true,
		Devices: map[int32]DeviceInfo{1: {Available: true, DRAMBytes: 12 << 30}}})
	c := connect(t, s)
	send(t, c, alloc(1, 1, 100, DRAM, 7).Append(nil, V4))
	send(t, c, alloc(1, 2, 50, L1, 7).Append(nil, V4))
	send(t, c, Request{Kind: Query, Device: 1}.Append(nil, V4))
	received(t, c, V4)
	d, err := AskSums(s.o.Socket, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Devices) != 1 || d.Devices[0].Capacity["DRAM"] != 12<<30 || len(d.Devices[0].Capacity) != 1 ||
		d.Devices[0].Used["L1"] != 50 || d.Active != 2 || d.Buffers != nil {
		t.Errorf("%+v", d)
	}
	want := Holding{PID: 7, Owner: 7, Device: 1, Count: 2, Bytes: 150, DRAM: 100, L1: 50}
	if len(d.Holdings) != 1 || d.Holdings[0] != want {
		t.Errorf("%+v", d.Holdings)
	}
	if strings.Contains(out.String(), "DUMP") {
		t.Errorf("a question for sums printed\n%s", out.String())
	}
}

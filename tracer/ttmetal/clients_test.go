package ttmetal

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheRecordedExchangeOfVersionOne(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, TrustPIDs: true})
	c := connect(t, s)
	send(t, c, unhex(t, hexAlloc, 32))
	send(t, c, unhex(t, hexQuery, 64))
	want := append(unhex(t, "04000000 01000000", 40), unhex(t, "0010000000000000", 16)...)
	if got := received(t, c, V1); !bytes.Equal(got, want) {
		t.Errorf("the reply is\n%x, want\n%x", got, want)
	}
	send(t, c, unhex(t, hexDump, 71))
	out.awaits(t, "DUMP_REMAINING complete.")
	send(t, c, unhex(t, hexFree, 40))
	out.awaits(t, "FINAL")
	for _, line := range []string{
		"✓ [PID 12345] Allocated 4096 bytes of L1 on device 1 (buffer_id=196608)\n",
		"📋 Received DUMP_REMAINING request...\n",
		"    - Buffer 0x30000: 4.0 KB (PID 12345, ref_count=1)\n",
		"✗ [PID 12345] Freed buffer 196608 on device 1 (4096 bytes, FINAL)\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

func TestEverySizeIsAnsweredInItsSizeOnOneSocket(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true,
		Devices: map[int32]DeviceInfo{1: {Available: true, Arch: 2, DRAMBytes: 12 << 30}}})
	for i, size := range sizes {
		c := connect(t, s)
		id := uint64(i)
		send(t, c, alloc(1, id, 100, DRAM, 1).Append(nil, size))
		send(t, c, Request{Kind: Query, Device: 1}.Append(nil, size))
		if r := DecodeReply(received(t, c, size)); r.Kind != Response ||
			r.Device != 1 || r.Used[CountDRAM] != 100*(id+1) {
			t.Errorf("of %d bytes: %+v", size, r)
		}
		send(t, c, Request{Kind: DeviceInfoQuery, Device: -1}.Append(nil, size))
		if r := DecodeReply(received(t, c, size)); r.Kind != DeviceInfoResponse || r.Device != -1 || size > V1 &&
			(r.Devices != 2 || !r.Info.Available) {
			t.Errorf("the number of devices, of %d bytes: %+v", size, r)
		}
		send(t, c, Request{Kind: DeviceInfoQuery, Device: 1}.Append(nil, size))
		if r := DecodeReply(received(t, c, size)); size > V1 && (r.Info.DRAMBytes != 12<<30 || r.Info.Arch != 2) {
			t.Errorf("device 1, of %d bytes: %+v", size, r)
		}
	}
}

func TestMonitorsThatOnlyAskAreAnswered(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{})
	for _, size := range sizes { // each waits for its answer before it sends more
		c := connect(t, s)
		for device := int32(-3); device < 12; device++ {
			send(t, c, Request{Kind: Query, Device: device}.Append(nil, size))
			if r := DecodeReply(received(t, c, size)); r.Kind != Response ||
				r.Device != device || r.Used != [counters]uint64{} {
				t.Errorf("device %d, of %d bytes: %+v", device, size, r)
			}
		}
	}
}

// What each monitor of tt-metal sends, message by message, waiting for each
// answer: kinds and devices.
func TestEveryMonitorsQuestionsAreAnsweredInTheirOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true,
		Devices: map[int32]DeviceInfo{0: {Available: true, DRAMBytes: 12 << 30},
			1: {Available: true, DRAMBytes: 12 << 30}}})
	for name, c := range map[string]struct {
		size int
		asks []Request
	}{
		"allocation_monitor_client v1": {V1, []Request{{Kind: Query}, {Kind: Query, Device: 1}}},
		"allocation_monitor_client v2": {V2, []Request{
			{Kind: DeviceInfoQuery, Device: -1}, {Kind: DeviceInfoQuery}, {Kind: DeviceInfoQuery, Device: 1},
			{Kind: Query}, {Kind: Query, Device: 1},
		}},
		"allocation_client.py":    {V2, []Request{{Kind: DeviceInfoQuery, Device: -1}, {Kind: Query}}},
		"debug_remaining_buffers": {V1, []Request{{Kind: Query}, {Kind: Query, Device: 3}, {Kind: Query, Device: 7}}},
		"tt_smi_umd": {V4, []Request{{Kind: Query}, {Kind: DeviceInfoQuery}, {Kind: Query, Device: 7},
			{Kind: DeviceInfoQuery, Device: 7}}},
	} {
		k := connect(t, s)
		for _, q := range c.asks {
			send(t, k, q.Append(nil, c.size))
			r := DecodeReply(received(t, k, c.size))
			if r.Device != q.Device || r.Kind != q.Kind+1 {
				t.Errorf("%s: %+v is answered by %+v", name, q, r)
			}
			if q.Kind == DeviceInfoQuery && c.size > V1 && q.Device < 2 != r.Info.Available {
				t.Errorf("%s: device %d is available: %v", name, q.Device, r.Info.Available)
			}
		}
	}
}

// The library of tt-metal sends bursts on one long connection: buffers, and
// since v4 circular buffers and kernels.
func TestTheLibrarysBurstsOfEveryVersionAreEntered(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true})
	for i, size := range []int{V1, V2, V4} {
		var b []byte
		want, device := model{}, int32(i)
		add := func(q Request) {
			want.apply(&q)
			b = q.Append(b, size)
		}
		for n := range uint64(1000) {
			add(alloc(device, 0x1000*n, 2048, DRAM, 5))
			if n%3 > 0 {
				add(free(device, 0x1000*n, 5))
			}
			if size == V4 {
				add(Request{Kind: CBAlloc, Device: device, ID: 0x18b00 + n%7, Size: 4096, PID: 5, Time: 1})
				add(Request{Kind: KernelLoad, Device: device, ID: n % 5, Size: 57344, Memory: Memory(n % 3),
					PID: 5, Time: 1})
				add(Request{Kind: CBFree, Device: device, ID: 0x18b00 + n%3, Size: 4096, PID: 5})
				add(Request{Kind: KernelUnload, Device: device, ID: n % 2, Size: 57344, PID: 5})
			}
		}
		k := connect(t, s)
		send(t, k, Request{Kind: Query, Device: device}.Append(b, size))
		received(t, k, size)
		d := dumped(t, s.o.Socket)
		d.Buffers = slices.DeleteFunc(d.Buffers, func(b Buffer) bool { return b.Device != device })
		want.isDumped(t, d)
	}
}

func TestADumpRequestOfTheTestFixtureGetsNoReplyAndMayCloseAtOnce(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out})
	c := connect(t, s)
	send(t, c, Request{Kind: DumpRemaining}.Append(nil, V1))
	c.CloseWrite()
	c.SetReadDeadline(time.Now().Add(patience))
	if b, err := io.ReadAll(c); len(b) > 0 || err != nil {
		t.Errorf("the reply is %x, %v; want none", b, err)
	}
	out.awaits(t, "perfect cleanup!")
}

func TestTwoDemosCollideOnTheirIdsAsUpstream(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, TrustPIDs: true})
	const mib = 1 << 20
	demo := func(pid int32) (b []byte) {
		for i := range uint64(16) {
			q := alloc(0, i+1, mib, L1, pid)
			if i >= 4 && i < 8 {
				q.Memory, q.Size = DRAM, 25*mib
			}
			b = q.Append(b, V1)
		}
		return b
	}
	for _, pid := range []int32{100, 200} {
		c := connect(t, s)
		send(t, c, demo(pid))
		settle(t, s, uint64(pid)/100*16)
	}
	if got := s.Books().used(0); s.Books().Live() != 16 || got[CountL1] != 12*mib || got[CountDRAM] != 100*mib {
		t.Errorf("%d buffers, counters %v", s.Books().Live(), got)
	}
	c := connect(t, s)
	for i := range uint64(16) {
		send(t, c, free(0, i+1, 0).Append(nil, V1)) // the demo's frees name no process
	}
	settle(t, s, 48)
	out.awaits(t, "✗ [PID 100] Freed buffer 16 on device 0 (1048576 bytes, ref_count=1 remaining)")
}

func TestThePythonClientFreesOnDeviceZeroOnly(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, TrustPIDs: true})
	c := connect(t, s)
	send(t, c, alloc(2, 0x10, 64, DRAM, 5).Append(nil, V2))
	send(t, c, free(0, 0x10, 5).Append(nil, V2))
	out.awaits(t, "⚠ [PID 5] Deallocation for unknown buffer 0x10 on device 0 (allocated before tracking started)")
	if s.Books().Live() != 1 || s.Counts().Unknown != 1 {
		t.Errorf("%d buffers, %+v", s.Books().Live(), s.Counts())
	}
}

func TestTheRealtimeMonitorGetsItsCountersAndTheEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true})
	c := connect(t, s)
	send(t, c, alloc(7, 1, 1000, Trace, 5).Append(nil, V1))
	settle(t, s, 0)
	eventually(t, func() bool { return s.Books().Live() == 1 }, func() string { return "no allocation" })
	m := connect(t, s)
	send(t, m, append([]byte{byte(Free)}, make([]byte, statsSize-1)...))
	m.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(m)
	if err != nil || len(b) != statsDevices*8*int(counters) {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	if at := 8 * (7*int(counters) + int(CountTrace)); b[at] != 0xe8 || b[at+1] != 3 {
		t.Errorf("device 7 has %x of TRACE", b[at:at+8])
	}
}

func TestTheInstrumentedHelpersAreHeard(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true})
	c := connect(t, s)
	send(t, c, packed(Request{Kind: CBAlloc, Device: 3, Size: 4096, ID: 0x18b00, PID: 77}))
	eventually(t, func() bool { return s.Books().used(3)[CountCB] == 4096 },
		func() string { return "no circular buffer" })
	send(t, c, packed(Request{Kind: KernelLoad, Device: 3, Size: 100, ID: 1, PID: 77}))
	eventually(t, func() bool { return s.Books().used(3)[CountKernel] == 100 }, func() string { return "no kernel" })
}

func TestKernelsAreDumpedWithTheirOwnerAndAge(t *testing.T) {
	t.Parallel()
	var out screen
	s := serve(t, Options{Out: &out, TrustPIDs: true, Quiet: true})
	s.books.now = func() time.Time { return time.Unix(1700000042, 0) }
	c := connect(t, s)
	b := Request{Kind: KernelLoad, Device: 1, Size: 56 << 10, Memory: 1, PID: 77, ID: 0xabc,
		Time: 1700000000000000000}.Append(nil, V4)
	send(t, c, Request{Kind: DumpKernels}.Append(b, V4))
	out.awaits(t, "DUMP_KERNELS complete.")
	for _, line := range []string{
		"DETAILED KERNEL ALLOCATIONS", "Total kernel allocations: 1\n", "📊 Device 1 - Total: 0.055 MB (1 kernels)\n",
		"Kernel ID: 0xabc\n", "Size:      56.0 KB\n", "Owner PID: 77\n", "Age:       42 seconds\n",
	} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("no %q in\n%s", line, out.String())
		}
	}
}

func TestGpumemsOwnClientGetsTextAndJSON(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{TrustPIDs: true})
	c := connect(t, s)
	b := alloc(1, 1<<63+1, 100, L1, 5).Append(nil, V4)
	send(t, c, Request{Kind: KernelLoad, Device: 0, Size: 7, Memory: 2, PID: 6, ID: 9, Time: 3}.Append(b, V4))
	settle(t, s, 2)
	var text, raw bytes.Buffer
	if err := Ask(s.o.Socket, false, patience, &text); err != nil ||
		!strings.Contains(text.String(), "Buffer 0x8000000000000001: 0.1 KB (PID 5, ref_count=1)") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if err := Ask(s.o.Socket, true, patience, &raw); err != nil {
		t.Fatal(err)
	}
	d, err := ReadDump(&raw)
	if err != nil {
		t.Fatal(err)
	}
	want := []Buffer{
		{Device: 0, Space: "kernel", Memory: "Dispatch", ID: 9, Size: 7, PID: 6, Refs: 1, TimeNs: 3},
		{Device: 1, Space: "buffer", Memory: "L1", ID: 1<<63 + 1, Size: 100, PID: 5, Refs: 1,
			TimeNs: 1700000000000000000},
	}
	if len(d.Buffers) != 2 || d.Buffers[0] != want[0] || d.Buffers[1] != want[1] || d.Active != 1 ||
		d.Counts.Messages < 2 {
		t.Errorf("%+v, want %+v", d, want)
	}
	if got := string(d.Text(false)); !strings.Contains(text.String(), strings.TrimSpace(got)) {
		t.Errorf("the client's text\n%s\nis not the server's\n%s", got, text.String())
	}
	totals, err := AskTotals(s.o.Socket, 3, patience)
	if err != nil || len(totals) != 3 || totals[1].Used["L1"] != 100 {
		t.Errorf("%+v, %v", totals, err)
	}
}

package ttmetal

import (
	"bytes"
	"testing"
)

const (
	hexAlloc = "01000000 01000000 0010000000000000 01000000 39300000 0000030000000000 00002a36fe9c9717"
	hexFree  = "02000000 01000000 000000000000000000000000 39300000 0000030000000000"
	hexQuery = "03000000 01000000"
	hexDump  = "05"
)

func TestRequestsAreTheBytesOfTheRecordedClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q     Request
		text  string
		zeros int
	}{
		"alloc": {alloc(1, 0x30000, 4096, L1, 12345), hexAlloc, 32},
		"free":  {free(1, 0x30000, 12345), hexFree, 40},
		"query": {Request{Kind: Query, Device: 1}, hexQuery, 64},
		"dump":  {Request{Kind: DumpRemaining}, hexDump, 71},
	} {
		for _, size := range []int{V1, V2, V3, V4} {
			want := unhex(t, c.text, c.zeros+size-V1)
			if got := c.q.Append(nil, size); !bytes.Equal(got, want) {
				t.Errorf("%s of %d bytes is\n%x, want\n%x", name, size, got, want)
			}
			if got := DecodeRequest(want); got != c.q {
				t.Errorf("%s decodes to %+v, want %+v", name, got, c.q)
			}
		}
	}
}

func TestTheReplyAfterAnAllocationIsTheRecordedOne(t *testing.T) {
	t.Parallel()
	want := append(unhex(t, "04000000 01000000", 40), unhex(t, "0010000000000000", 16)...)
	r := Reply{Kind: Response, Device: 1}
	r.Used[CountL1] = 4096
	if got := r.Append(nil, V1); !bytes.Equal(got, want) {
		t.Errorf("reply is\n%x, want\n%x", got, want)
	}
}

func TestRepliesKeepWhatTheirSizeHasRoomFor(t *testing.T) {
	t.Parallel()
	full := Reply{
		Kind: DeviceInfoResponse, Device: -1, Devices: 8, Used: [counters]uint64{1, 2, 3, 4, 5, 6},
		Info: DeviceInfo{true, 2, 12 << 30, 75 << 20, 12, 1 << 30, 1 << 20},
	}
	for size, want := range map[int]Reply{
		V1: {Kind: DeviceInfoResponse, Device: -1, Used: [counters]uint64{1, 2, 3, 4}},
		V2: {Kind: DeviceInfoResponse, Device: -1, Used: [counters]uint64{1, 2, 3, 4}, Info: full.Info, Devices: 8},
		V3: full, V4: full,
	} {
		b := full.Append(nil, size)
		if len(b) != size {
			t.Errorf("a reply of %d bytes has %d", size, len(b))
		}
		if got := DecodeReply(b); got != want {
			t.Errorf("of %d bytes: %+v, want %+v", size, got, want)
		}
	}
}

func TestFieldsOfDeviceInfoStandWhereTheClientsReadThem(t *testing.T) {
	t.Parallel()
	r := Reply{Kind: DeviceInfoResponse, Devices: 0x0a, Info: DeviceInfo{true, 3, 1, 2, 4, 5, 6}}
	for size, at := range map[int]int{V2: 72, V3: 88, V4: 88} {
		b := r.Append(nil, size)
		for offset, want := range map[int]byte{at: 1, at + 8: 2, at + 16: 3, at + 20: 4, at + 24: 5, at + 28: 6,
			at + 32: 1, at + 36: 10} {
			if b[offset] != want {
				t.Errorf("of %d bytes: byte %d is %d, want %d", size, offset, b[offset], want)
			}
		}
	}
}

func FuzzRequestsDecodeAndEncodeToTheSameHeader(f *testing.F) {
	f.Add(alloc(1, 0x30000, 4096, L1, 12345).Append(nil, V1))
	f.Add(Request{Kind: DeviceInfoQuery, Device: -1}.Append(nil, V4))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < headerSize {
			return
		}
		q := DecodeRequest(b)
		again := q.Append(nil, V1)
		if DecodeRequest(again) != q {
			t.Fatalf("%x decodes to %+v and back to %x", b, q, again)
		}
		for i := range headerSize {
			if pad := i > 0 && i < 4 || i > 16 && i < 20; !pad && again[i] != b[i] {
				t.Fatalf("byte %d changed from %x to %x", i, b[i], again[i])
			}
		}
	})
}

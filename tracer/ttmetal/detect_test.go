package ttmetal

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// feed gives bytes to a framer as one read and returns what it hands out.
func feed(t testing.TB, f *framer, b []byte, idle bool) []Request {
	t.Helper()
	var out []Request
	for {
		n := copy(f.space(), b)
		f.wrote(n)
		b = b[n:]
		for {
			q, ok, err := f.next(idle && len(b) == 0)
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			out = append(out, q)
		}
		if len(b) == 0 {
			return out
		}
	}
}

var sizes = []int{V1, V2, V3, V4}

// anyRequest is a request of any kind a client sends, with any values.
func anyRequest(r *rand.Rand) Request {
	kinds := []Kind{Alloc, Free, Query, DumpRemaining, DeviceInfoQuery, CBAlloc, CBFree, KernelLoad, KernelUnload,
		DumpKernels}
	q := Request{
		Kind: kinds[r.IntN(len(kinds))], Device: int32(r.IntN(10)) - 1, Size: r.Uint64N(1 << 40),
		Memory: Memory(r.IntN(5)),
		PID:    int32(r.IntN(1 << 22)), ID: r.Uint64(),
	}
	if r.IntN(2) == 0 {
		q.Time = 1<<60 + r.Uint64N(1<<60)
	}
	return q
}

func TestTheSizeIsFoundInTwoHundredThousandStreams(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 200_000 {
		size, n := sizes[r.IntN(4)], 1+r.IntN(4)
		var want []Request
		var stream []byte
		for range n {
			q := anyRequest(r)
			want = append(want, q)
			stream = q.Append(stream, size)
		}
		var f framer
		var got []Request
		for len(stream) > 0 {
			cut := min(1+r.IntN(500), len(stream))
			got = append(got, feed(t, &f, stream[:cut], cut == len(stream))...)
			stream = stream[cut:]
		}
		if len(got) != n || f.size != size {
			t.Fatalf("stream %d: %d messages of %d bytes, want %d of %d", i, len(got), f.size, n, size)
		}
		for j := range got {
			if got[j] != want[j] {
				t.Fatalf("stream %d, message %d: %+v, want %+v", i, j, got[j], want[j])
			}
		}
	}
}

func TestAGuessBySilenceIsTakenBackWhenTheRestOfTheMessageComes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{V2, V3, V4} {
		for _, pause := range []int{V1, V2, V3} {
			if pause >= size {
				continue
			}
			var f framer
			first, second := alloc(0, 1, 10, L1, 1), alloc(0, 2, 20, L1, 1)
			stream := second.Append(first.Append(nil, size), size)
			got := feed(t, &f, stream[:pause], true)
			got = append(got, feed(t, &f, stream[pause:], false)...)
			if len(got) != 2 || got[0] != first || got[1] != second || f.size != size {
				t.Errorf("of %d bytes, a pause after %d: %+v of %d bytes", size, pause, got, f.size)
			}
		}
	}
}

func TestBytesOfNoClientAreAnError(t *testing.T) {
	t.Parallel()
	for at := V1 + 1; at < V4; at++ {
		if at == V2 || at == V3 {
			continue
		}
		b := make([]byte, at+1)
		b[0], b[at] = byte(Alloc), 1
		if _, _, err := Detect(b, false); !errors.Is(err, ErrProtocol) {
			t.Errorf("a byte at %d gives %v", at, err)
		}
	}
}

func TestSilenceDecidesOnlyAtTheLengthOfAMessage(t *testing.T) {
	t.Parallel()
	for n := range V4 + 1 {
		b := make([]byte, n)
		size, _, err := Detect(b, true)
		want := 0
		if n == V1 || n == V2 || n == V3 || n == V4 {
			want = n
		}
		if size != want || err != nil {
			t.Errorf("%d bytes and silence: %d, %v; want %d", n, size, err, want)
		}
		if size, _, _ := Detect(b, false); n < V4 && size != 0 {
			t.Errorf("%d bytes without silence: %d, want to wait", n, size)
		}
	}
}

func packed(q Request) []byte {
	v := q.Append(nil, V1)
	b := append([]byte{byte(q.Kind), 0, 0, 0}, v[4:8]...)
	b = append(append(b, v[8:16]...), v[24:32]...)
	return append(append(b, v[20:24]...), 0, 0, 0, 0)
}

func TestPackedEventsOfTheInstrumentedHelpersAreRead(t *testing.T) {
	t.Parallel()
	one := Request{Kind: CBAlloc, Device: 3, Size: 4097, ID: 0x18b00, PID: 77}
	two := Request{Kind: KernelLoad, Device: 1, Size: 1 << 20, ID: 9, PID: 77}
	var f framer
	if got := feed(t, &f, packed(one), true); len(got) != 1 || got[0] != one {
		t.Errorf("one event alone: %+v", got)
	}
	if got := feed(t, &f, packed(two), false); len(got) != 1 || got[0] != two {
		t.Errorf("the next: %+v", got)
	}
	f = framer{}
	var many []byte
	for range 10 {
		many = append(many, packed(one)...)
	}
	if got := feed(t, &f, many, false); len(got) != 10 || got[9] != one {
		t.Errorf("ten at once: %+v", got)
	}
}

func FuzzAnyStreamIsFramedOrRefusedAndNeverLost(f *testing.F) {
	f.Add(alloc(1, 0x30000, 4096, L1, 12345).Append(nil, V1), uint8(200), true)
	f.Add(alloc(1, 1, 1, L1, 1).Append(free(0, 1, 1).Append(nil, V4), V4), uint8(7), false)
	f.Add(packed(Request{Kind: CBAlloc, Size: 1, ID: 2}), uint8(32), true)
	f.Add(make([]byte, 300), uint8(1), true)
	f.Fuzz(func(t *testing.T, stream []byte, chunk uint8, idle bool) {
		var f framer
		handed := 0
		for b := stream; len(b) > 0; {
			cut := min(1+int(chunk), len(b), len(f.space()))
			copy(f.space(), b[:cut])
			f.wrote(cut)
			b = b[cut:]
			for {
				q, ok, err := f.next(idle)
				if err != nil {
					if !errors.Is(err, ErrProtocol) {
						t.Fatalf("%v is no protocol error", err)
					}
					return
				}
				if !ok {
					break
				}
				if len(f.space()) == 0 {
					t.Fatal("no room for the next bytes")
				}
				at := handed * f.size
				if f.legacy == 0 && q != DecodeRequest(stream[at:]) {
					t.Fatalf("message %d of %d bytes is not what was sent", handed, f.size)
				}
				handed++
			}
			if f.legacy == stats24 {
				return // the connection is closed then
			}
		}
		if f.pending() < 0 || f.size > 0 && handed*f.size+f.pending() != len(stream) {
			t.Fatalf("%d messages of %d bytes and %d pending of %d", handed, f.size, f.pending(), len(stream))
		}
	})
}

func TestABufferGrowsWithWhatComesAndNoFurtherThanItsBound(t *testing.T) {
	t.Parallel()
	var f framer
	quiet := alloc(0, 1, 1, L1, 1).Append(nil, V1)
	for range 100 {
		feed(t, &f, quiet, true)
	}
	if cap(f.buf) != firstBuffer {
		t.Errorf("a quiet client has a buffer of %d bytes, want %d", cap(f.buf), firstBuffer)
	}
	// Whole messages that fill each read, as from a program that never waits.
	for range 100 {
		n := 0
		for space := f.space(); n+V1 <= len(space); n += V1 {
			copy(space[n:], quiet)
		}
		f.wrote(copy(f.space()[n:], quiet) + n)
		for ok := true; ok; {
			var err error
			if _, ok, err = f.next(false); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cap(f.buf) != mostBuffer {
		t.Errorf("a busy client has a buffer of %d bytes, want %d", cap(f.buf), mostBuffer)
	}
}

package kernels

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// golden are blocks and their values by gguf-py, a decoder that shares
// nothing with this one.
func golden(t testing.TB) map[string][2][]byte {
	t.Helper()
	text, err := os.ReadFile("testdata/dequant.golden")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][2][]byte{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 3 || f[0] == "#" {
			continue
		}
		blocks, err1 := hex.DecodeString(f[1])
		values, err2 := hex.DecodeString(f[2])
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		out[f[0]] = [2][]byte{blocks, values}
	}
	return out
}

func TestQuantisedBlocksDecodeAsTheReferenceDecoderDoes(t *testing.T) {
	t.Parallel()
	want := golden(t)
	for _, f := range Formats() {
		if f == Float || f == HalfFloat {
			continue // bits of IEEE 754
		}
		pair, ok := want[f.String()]
		if !ok {
			t.Fatalf("no golden values of %v", f)
		}
		n := len(pair[1]) / 4
		if n != 8*f.BlockValues() || len(pair[0]) != 8*f.BlockBytes() {
			t.Fatalf("golden values of %v: %d values, %d B", f, n, len(pair[0]))
		}
		got32, got16 := make([]float32, n), make([]uint16, n)
		if err := errors.Join(DequantF32(got32, pair[0], f), DequantF16(got16, pair[0], f)); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			v := math.Float32frombits(binary.LittleEndian.Uint32(pair[1][4*i:]))
			if math.Float32bits(got32[i]) != math.Float32bits(v) && (got32[i] != 0 || v != 0) {
				t.Errorf("%v value %d is %v, want %v", f, i, got32[i], v)
			}
			if got16[i]&0x7fff != F32ToF16(v)&0x7fff || got16[i]&0x7fff != 0 && got16[i] != F32ToF16(v) {
				t.Errorf("%v value %d is %#04x in f16, want %#04x", f, i, got16[i], F32ToF16(v))
			}
		}
	}
}

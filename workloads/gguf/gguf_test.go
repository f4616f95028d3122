package gguf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// encode writes values little endian; strings get their length in front.
func encode(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		switch v := v.(type) {
		case string:
			putString(&b, v)
		case []byte:
			b.Write(v)
		default:
			put(&b, v)
		}
	}
	return b.Bytes()
}

func head(tensors, entries int) []byte {
	return encode([]byte("GGUF"), uint32(3), uint64(tensors), uint64(entries))
}

func tensor(name string, typ Type, offset uint64, dims ...uint64) []byte {
	return encode(name, uint32(len(dims)), dims, uint32(typ), offset)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func padded(p []byte, data int) []byte {
	return append(p, make([]byte, int(aligned(int64(len(p))))-len(p)+data)...)
}

func TestAHostileFileIsRefusedWithItsOffset(t *testing.T) {
	t.Parallel()
	kv := func(key string, kind Kind, value ...any) []byte {
		return join(encode(key, kind), encode(value...))
	}
	room := make([]byte, 64)
	nested := encode("a", ArrayOf)
	for range maxArrayDepth {
		nested = append(nested, encode(ArrayOf, uint64(1))...)
	}
	tests := []struct {
		name   string
		file   []byte
		offset int64
		what   string
	}{
		{"an empty file", nil, 0, "truncated"},
		{"another magic", []byte("GGML....................."), 0, "magic"},
		{"magic alone", []byte("GGUF"), 4, "truncated"},
		{"version 1", encode([]byte("GGUF"), uint32(1), uint64(0), uint64(0)), 4, "version 1"},
		{"version 4", encode([]byte("GGUF"), uint32(4), uint64(0), uint64(0)), 4, "version 4"},
		{"big endian", encode([]byte("GGUF"), uint32(3<<24), uint64(0), uint64(0)), 4, "big endian"},
		{"a huge tensor count", encode([]byte("GGUF"), uint32(3), uint64(1)<<63, uint64(0)), 8, "cannot fit"},
		{"a huge metadata count", encode([]byte("GGUF"), uint32(3), uint64(0), uint64(1)<<40), 8, "cannot fit"},
		{"an endless key", join(head(0, 1), encode(^uint64(0)), room), 32, "truncated"},
		{"an empty key", join(head(0, 1), kv("", Uint8, uint8(1)), room), 24, "empty or repeated"},
		{"a repeated key", join(head(0, 2), kv("a", Uint8, uint8(1)), kv("a", Uint8, uint8(1)), room), 38,
			"empty or repeated"},
		{"an unknown kind", join(head(0, 1), kv("a", 13), room), 37, "unknown metadata kind 13"},
		{"a bool of 2", join(head(0, 1), kv("a", Bool, uint8(2)), room), 37, "bool is 2"},
		{"an endless string", join(head(0, 1), kv("a", String, uint64(1)<<62), room), 45, "truncated"},
		{"an array of a huge count", join(head(0, 1), kv("a", ArrayOf, Uint64, uint64(1)<<61), room), 37, "cannot fit"},
		{"an array of strings that ends early", join(head(0, 1), kv("a", ArrayOf, String, uint64(9), "x")), 58,
			"truncated"},
		{"an array of an unknown kind", join(head(0, 1), kv("a", ArrayOf, Kind(77), uint64(1)), room), 37,
			"unknown array kind 77"},
		{"arrays nested too deep", join(head(0, 1), nested, room), 37 + 12*(maxArrayDepth-1), "deeper"},
		{"alignment zero", join(head(0, 1), kv("general.alignment", Uint32, uint32(0)), room), 57, "power of two"},
		{"alignment 48", join(head(0, 1), kv("general.alignment", Uint32, uint32(48)), room), 57, "power of two"},
		{"alignment as a string", join(head(0, 1), kv("general.alignment", String, "32"), room), 63, "power of two"},
		{"an unknown tensor type", padded(join(head(1, 0), tensor("t", 99, 0, 32)), 64), 24, "unknown tensor type 99"},
		{"a removed tensor type", padded(join(head(1, 0), tensor("t", 4, 0, 32)), 64), 24, "unknown tensor type 4"},
		{"five dimensions", padded(join(head(1, 0), tensor("t", F32, 0, 1, 1, 1, 1, 1)), 64), 24, "5 dimensions"},
		{"a zero dimension", padded(join(head(1, 0), tensor("t", F32, 0, 4, 0)), 64), 24, "dimension 1 is zero"},
		{"dimensions that overflow", padded(join(head(1, 0), tensor("t", F32, 0, 1<<32, 1<<32)), 64), 24, "overflow"},
		{"bytes that overflow", padded(join(head(1, 0), tensor("t", F32, 0, 1<<61)), 64), 24, "overflow"},
		{"a row shorter than a block", padded(join(head(1, 0), tensor("t", Q4_0, 0, 16, 2)), 64), 24, "not a multiple"},
		{"an empty tensor name", padded(join(head(1, 0), tensor("", F32, 0, 1)), 64), 24, "empty or repeated"},
		{"a tensor name of 65 bytes", padded(join(head(1, 0), tensor(strings.Repeat("n", 65), F32, 0, 1)), 64), 24,
			"at most 64"},
		{"a repeated tensor name", padded(join(head(2, 0), tensor("t", F32, 0, 1), tensor("t", F32, 32, 1)), 64), 57,
			"empty or repeated"},
		{"a misaligned tensor", padded(join(head(1, 0), tensor("t", F32, 4, 1)), 64), 24, "alignment"},
		{"overlapping tensors", padded(join(head(2, 0), tensor("t", F32, 0, 16), tensor("u", F32, 32, 8)), 128), 57,
			`tensor "u" overlaps tensor "t"`},
		{"two tensors in one place", padded(join(head(2, 0), tensor("t", F32, 0, 8), tensor("u", F32, 0, 8)), 128),
			57, "overlaps"},
		{"data that ends early", padded(join(head(1, 0), tensor("t", F32, 0, 16)), 63), 24, "file truncated"},
		{"an offset beyond every file", padded(join(head(1, 0), tensor("t", F32, ^uint64(0)-31, 16)), 64), 24,
			"beyond any file"},
		{"an offset behind the end", padded(join(head(1, 0), tensor("t", F32, 1<<40, 16)), 64), 24, "file truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Read(bytes.NewReader(tt.file), int64(len(tt.file)))
			var fe *FormatError
			if !errors.As(err, &fe) || !errors.Is(err, ErrFormat) {
				t.Fatalf("got %v, want a FormatError", err)
			}
			if fe.Offset != tt.offset || !strings.Contains(fe.What, tt.what) {
				t.Errorf("got %v, want offset %d and %q", err, tt.offset, tt.what)
			}
		})
	}
}

func TestEveryPrefixOfAFileIsRefusedOrReadWhole(t *testing.T) {
	t.Parallel()
	spec := Spec{Metadata: allKinds(), Tensors: []Tensor{{Name: "t", Type: Q4_0, Dims: []uint64{32, 2}}}}
	header, _, size, err := spec.Plan()
	if err != nil {
		t.Fatal(err)
	}
	file := append(header, make([]byte, size-int64(len(header)))...)
	for n := range len(file) {
		if _, err := Read(bytes.NewReader(file[:n]), int64(n)); !errors.Is(err, ErrFormat) {
			t.Fatalf("prefix of %d of %d bytes: got %v, want a format error", n, len(file), err)
		}
	}
	if _, err := Read(bytes.NewReader(file), size); err != nil {
		t.Fatal(err)
	}
}

func allKinds() []Entry {
	return []Entry{
		{"u8", uint8(200)}, {"i8", int8(-2)}, {"u16", uint16(60000)}, {"i16", int16(-3)},
		{"u32", uint32(4e9)}, {"i32", int32(-4)}, {"f32", float32(1.5)}, {"bool", true},
		{"string", "a\x00b"}, {"u64", uint64(1) << 63}, {"i64", int64(-5)}, {"f64", 2.5},
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	t.Parallel()
	for _, version := range []uint32{2, 3} {
		spec := Spec{Version: version, Metadata: allKinds(), Tensors: []Tensor{
			{Name: "scalar", Type: F32},
			{Name: "matrix", Type: Q8_0, Dims: []uint64{64, 3}},
		}}
		var b bytes.Buffer
		err := spec.Write(&b, func(t Tensor) ([]byte, error) {
			return bytes.Repeat([]byte(t.Name[:1]), int(t.Bytes)), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if f.Version != version || !reflect.DeepEqual(f.Metadata, spec.Metadata) {
			t.Errorf("got version %d, metadata %v", f.Version, f.Metadata)
		}
		for _, x := range f.Tensors {
			data, err := io.ReadAll(f.Data(x))
			if err != nil || !bytes.Equal(data, bytes.Repeat([]byte(x.Name[:1]), int(x.Bytes))) {
				t.Errorf("tensor %s: %v, %q", x.Name, err, data)
			}
		}
		if m := f.Tensors[1]; m.Elements != 192 || m.Bytes != 204 || !reflect.DeepEqual(m.Shape(), []int{3, 64}) {
			t.Errorf("matrix is %+v", m)
		}
	}
}

func TestTheTwinHasTinyLlamasTensors(t *testing.T) {
	t.Parallel()
	for _, scale := range TwinScales() {
		spec, err := Twin(scale)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "twin.gguf")
		if err := spec.WriteSparse(path); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		types, sizes := map[Type]int{}, map[uint64]int{}
		var bytes, elements int64
		for _, x := range f.Tensors {
			types[x.Type]++
			sizes[x.Elements]++
			bytes += x.Bytes
			elements += int64(x.Elements)
		}
		counts := map[int]int{}
		for _, n := range sizes {
			counts[n]++
		}
		if !reflect.DeepEqual(types, map[Type]int{F32: 45, Q4_0: 155, Q6_K: 1}) ||
			!reflect.DeepEqual(counts, map[int]int{66: 1, 45: 1, 44: 2, 2: 1}) {
			t.Errorf("scale %d: types %v, sizes %v", scale, types, sizes)
		}
		if scale == 1 && (bytes != 635_990_016 || 2*elements != 2_200_096_768) {
			t.Errorf("tensor data is %d bytes, %d as f16", bytes, 2*elements)
		}
		if st, err := os.Stat(path); err != nil || st.Size() != f.DataOffset+bytes {
			t.Errorf("file is %d bytes, header %d, data %d", st.Size(), f.DataOffset, bytes)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Twin(3); err == nil {
		t.Error("scale 3 is accepted")
	}
}

func TestASparseFileThatClaimsAHugeHeaderIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "huge.gguf")
	start := join(head(0, 1), encode("a", String, uint64(1)<<31))
	if err := os.WriteFile(path, start, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 1<<33); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "largest header") {
		t.Errorf("got %v", err)
	}
}

func TestAFolderIsNoModel(t *testing.T) {
	t.Parallel()
	if _, err := Open(t.TempDir()); err == nil {
		t.Error("a folder was opened as a model")
	}
}

// FuzzRead holds that no input makes Read panic, and that what it accepts
// stays within the file and, arrays aside, encodes again to the same header.
func FuzzRead(f *testing.F) {
	spec := Spec{Metadata: allKinds(), Tensors: []Tensor{{Name: "t", Type: Q6_K, Dims: []uint64{256}}}}
	header, _, size, err := spec.Plan()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(header, make([]byte, size-int64(len(header)))...))
	f.Add(padded(join(head(2, 0), tensor("t", F32, 0, 16), tensor("u", F32, 64, 8)), 128))
	f.Add(join(head(0, 1), encode("a", ArrayOf, ArrayOf, uint64(1), String, uint64(2), "x", "y")))
	f.Fuzz(func(t *testing.T, p []byte) {
		g, err := Read(bytes.NewReader(p), int64(len(p)))
		if err != nil {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("error of another kind: %v", err)
			}
			return
		}
		again := Spec{Version: g.Version, Metadata: g.Metadata}
		for _, x := range g.Tensors {
			if x.Offset < g.DataOffset || x.Offset+x.Bytes > int64(len(p)) {
				t.Fatalf("tensor %+v lies outside of %d bytes", x, len(p))
			}
			again.Tensors = append(again.Tensors, Tensor{Name: x.Name, Type: x.Type, Dims: x.Dims})
		}
		for _, e := range g.Metadata {
			if a, ok := e.Value.(Array); ok {
				if a.Offset+a.Bytes > int64(len(p)) {
					t.Fatalf("array %+v lies outside of %d bytes", a, len(p))
				}
				return
			}
		}
		header, _, _, err := again.Plan()
		if err != nil {
			t.Fatal(err)
		}
		// Tensor offsets may differ: the file may leave gaps.
		if n := 24; !bytes.Equal(header[:n], p[:n]) {
			t.Fatalf("preamble %x became %x", p[:n], header[:n])
		}
	})
}

func BenchmarkReadTwin(b *testing.B) {
	spec, err := Twin(1)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "twin.gguf")
	if err := spec.WriteSparse(path); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f.Close()
	}
}

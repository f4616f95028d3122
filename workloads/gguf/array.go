package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// maxArray is the bytes of an array that is read: vocabularies have some
// megabytes.
const maxArray = 256 << 20

// array reads the encoded elements of an array of a kind.
func (f *File) array(key string, kind Kind) (a Array, p []byte, err error) {
	v, ok := f.Value(key)
	if !ok {
		return a, nil, formatErrorf(f.DataOffset, "there is no %s", key)
	}
	a, ok = v.(Array)
	if !ok || a.Kind != kind {
		return a, nil, formatErrorf(f.DataOffset, "%s is not an array of kind %d", key, kind)
	}
	if a.Bytes > maxArray {
		return a, nil, formatErrorf(a.Offset, "%s: %d bytes, at most %d are read", key, a.Bytes, maxArray)
	}
	p = make([]byte, a.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(f.src, a.Offset, a.Bytes), p); err != nil {
		return a, nil, fmt.Errorf("read %s: %w", key, err)
	}
	return a, p, nil
}

// Strings is an array of strings. Errors match ErrFormat where the file has no
// such array.
func (f *File) Strings(key string) ([]string, error) {
	a, p, err := f.array(key, String)
	if err != nil {
		return nil, err
	}
	list := make([]string, 0, a.Count)
	for range a.Count {
		if len(p) < 8 || binary.LittleEndian.Uint64(p) > uint64(len(p)-8) {
			return nil, formatErrorf(a.Offset, "%s: a string is cut", key)
		}
		n := 8 + int(binary.LittleEndian.Uint64(p))
		list = append(list, string(p[8:n]))
		p = p[n:]
	}
	return list, nil
}

// Floats is an array of float32, as Strings is one of strings.
func (f *File) Floats(key string) ([]float32, error) {
	_, p, err := f.array(key, Float32)
	list := make([]float32, len(p)/4)
	for i := range list {
		list[i] = math.Float32frombits(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return list, err
}

// Ints is an array of int32, as Strings is one of strings.
func (f *File) Ints(key string) ([]int32, error) {
	_, p, err := f.array(key, Int32)
	list := make([]int32, len(p)/4)
	for i := range list {
		list[i] = int32(binary.LittleEndian.Uint32(p[4*i:]))
	}
	return list, err
}

// putArray appends an array; ok is false for a type that cannot be written.
func putArray(b *bytes.Buffer, v any) (ok bool) {
	switch v := v.(type) {
	case []string:
		put(b, ArrayOf, String, uint64(len(v)))
		for _, s := range v {
			putString(b, s)
		}
	case []float32:
		put(b, ArrayOf, Float32, uint64(len(v)), v)
	case []int32:
		put(b, ArrayOf, Int32, uint64(len(v)), v)
	default:
		return false
	}
	return true
}

package gguf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
)

// Spec is a file to be written: metadata and tensors. Tensors give Name, Type
// and Dims; Write computes the rest. Arrays are written of []string, []float32
// and []int32.
type Spec struct {
	Version  uint32 // 0 means 3
	Metadata []Entry
	Tensors  []Tensor
}

// Plan encodes the header of a version 3 file with the default alignment and
// says how long the whole file is. The tensors come back with their sizes and
// file offsets.
func (s Spec) Plan() (header []byte, tensors []Tensor, size int64, err error) {
	version := s.Version
	if version == 0 {
		version = 3
	}
	var b bytes.Buffer
	put(&b, uint32(magic), version, uint64(len(s.Tensors)), uint64(len(s.Metadata)))
	for _, e := range s.Metadata {
		if err := putEntry(&b, e); err != nil {
			return nil, nil, 0, err
		}
	}
	var offset int64
	for _, t := range s.Tensors {
		elements, n, problem := sizeOf(t.Type, t.Dims)
		if problem != "" {
			return nil, nil, 0, fmt.Errorf("write tensor %q: %s", t.Name, problem)
		}
		t.Elements, t.Bytes, t.Offset = elements, int64(n), offset
		tensors = append(tensors, t)
		putString(&b, t.Name)
		put(&b, uint32(len(t.Dims)), t.Dims, uint32(t.Type), uint64(offset))
		offset = aligned(offset + t.Bytes)
	}
	b.Write(make([]byte, aligned(int64(b.Len()))-int64(b.Len())))
	size = int64(b.Len())
	for i := range tensors {
		tensors[i].Offset += int64(b.Len())
		size = tensors[i].Offset + tensors[i].Bytes
	}
	return b.Bytes(), tensors, size, nil
}

// WriteSparse writes the file with all tensor data zero, which every type
// decodes to 0. The data is a hole where the file system has holes.
func (s Spec) WriteSparse(path string) (err error) {
	header, _, size, err := s.Plan()
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create model: %w", err)
	}
	defer func() {
		if cerr := f.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("close model: %w", cerr)
		}
	}()
	if _, err := f.Write(header); err != nil {
		return fmt.Errorf("write model header: %w", err)
	}
	if err := f.Truncate(size); err != nil {
		return fmt.Errorf("extend model to %d bytes: %w", size, err)
	}
	return nil
}

// Write writes the file; data gives each tensor's bytes, exactly as many as
// its type and dimensions need.
func (s Spec) Write(w io.Writer, data func(Tensor) ([]byte, error)) error {
	header, tensors, _, err := s.Plan()
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("write model header: %w", err)
	}
	at := int64(len(header))
	for _, t := range tensors {
		p, err := data(t)
		if err == nil && int64(len(p)) != t.Bytes {
			err = fmt.Errorf("%d bytes given, %d needed", len(p), t.Bytes)
		}
		if err == nil {
			_, err = w.Write(append(make([]byte, t.Offset-at), p...))
		}
		if err != nil {
			return fmt.Errorf("write tensor %q: %w", t.Name, err)
		}
		at = t.Offset + t.Bytes
	}
	return nil
}

func aligned(n int64) int64 { return (n + defaultAlignment - 1) / defaultAlignment * defaultAlignment }

// put appends fixed-size values; a bytes.Buffer takes them without error.
func put(b *bytes.Buffer, values ...any) {
	for _, v := range values {
		binary.Write(b, binary.LittleEndian, v)
	}
}

func putString(b *bytes.Buffer, s string) {
	put(b, uint64(len(s)))
	b.WriteString(s)
}

func putEntry(b *bytes.Buffer, e Entry) error {
	putString(b, e.Key)
	switch v := e.Value.(type) {
	case uint8:
		put(b, Uint8, v)
	case int8:
		put(b, Int8, v)
	case uint16:
		put(b, Uint16, v)
	case int16:
		put(b, Int16, v)
	case uint32:
		put(b, Uint32, v)
	case int32:
		put(b, Int32, v)
	case float32:
		put(b, Float32, math.Float32bits(v))
	case bool:
		put(b, Bool, v)
	case string:
		put(b, String)
		putString(b, v)
	case uint64:
		put(b, Uint64, v)
	case int64:
		put(b, Int64, v)
	case float64:
		put(b, Float64, math.Float64bits(v))
	default:
		if !putArray(b, v) {
			return fmt.Errorf("write metadata %q: a %T cannot be written", e.Key, e.Value)
		}
	}
	return nil
}

package ttmetal

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// file lays out a device with the given processes at the given entries.
func file(processes map[int]Process) []byte {
	b := make([]byte, fileSize)
	le := binary.LittleEndian
	le.PutUint32(b[0:], 1)
	le.PutUint32(b[4:], uint32(len(processes)))
	le.PutUint64(b[8:], 1700000000000000000)
	le.PutUint32(b[16:], 2)
	le.PutUint64(b[24:], 0x100014511702033)
	le.PutUint64(b[32:], 0x1451170203301)
	le.PutUint32(b[40:], 3)
	put := func(at int, m Memory) {
		for i, v := range [...]uint64{m.DRAM, m.L1, m.L1Small, m.Trace, m.CB, m.Kernel} {
			le.PutUint64(b[at+8*i:], v)
		}
	}
	put(48, Memory{1, 2, 3, 4, 5, 6})
	le.PutUint32(b[96+56:], 1)
	le.PutUint32(b[96+56+4:], 1)
	put(96+56+8, Memory{DRAM: 7})
	for i, p := range processes {
		at := 992 + 128*i
		le.PutUint32(b[at:], uint32(p.PID))
		put(at+8, p.Used)
		le.PutUint64(b[at+56:], p.UpdatedNs)
		copy(b[at+64:at+128], p.Name)
	}
	return b
}

func TestTheLayoutOfTheSharedMemoryIsRead(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 64) // no end mark
	got, err := Decode(file(map[int]Process{
		0:  {PID: 42, Name: "python", Used: Memory{10, 20, 30, 40, 50, 60}, UpdatedNs: 9},
		63: {PID: 43, Name: long},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := Device{
		Version: 1, UpdatedNs: 1700000000000000000, Refs: 2, Board: 0x100014511702033, ASIC: 0x1451170203301,
		Number: 3, Total: Memory{1, 2, 3, 4, 5, 6},
		Chips: []Chip{{ID: 1, Remote: true, Used: Memory{DRAM: 7}}},
		Processes: []Process{{PID: 42, Name: "python", Used: Memory{10, 20, 30, 40, 50, 60}, UpdatedNs: 9},
			{PID: 43, Name: long}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	if got.Total.Bytes() != 21 || got.Location() != "1" {
		t.Errorf("%d bytes, location %s", got.Total.Bytes(), got.Location())
	}
}

func TestDeadProcessesAreShownAsSuch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "dev", "shm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(root); !errors.Is(err, ErrUnsupported) {
		t.Errorf("without files: %v", err)
	}
	const nobody = 1<<31 - 2 // beyond every system's highest pid
	for name, text := range map[string][]byte{
		"tt_device_4711_memory": file(map[int]Process{0: {PID: os.Getpid()},
			1: {PID: nobody, Used: Memory{DRAM: 5}}}),
		"tt_device_4712_memory": make([]byte, fileSize), "tt_device_4713_memory": make([]byte, 10),
		"other": nil,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(root)
	if err != nil {
		t.Fatal(err)
	}
	devices, err := r.Devices()
	if !errors.Is(err, ErrLayout) || strings.Count(err.Error(), "tt_device") != 2 {
		t.Errorf("the two bad files: %v", err)
	}
	if len(devices) != 1 || len(devices[0].Processes) != 2 {
		t.Fatalf("%+v", devices)
	}
	p := devices[0].Processes
	if p[0].Dead || p[1].Dead != gone(nobody) || p[1].Used.DRAM != 5 {
		t.Errorf("%+v", p)
	}
}

func FuzzAnyContentIsReadOrRefused(f *testing.F) {
	f.Add(file(nil))
	f.Add(file(map[int]Process{5: {PID: 1, Name: "x"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrLayout) {
				t.Fatal(err)
			}
			return
		}
		if len(d.Processes) > mostProcs || len(d.Chips) > mostChips {
			t.Fatalf("%+v", d)
		}
	})
}

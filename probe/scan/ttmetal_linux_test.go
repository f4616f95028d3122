package scan

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ttFile lays out the shared memory of a device with processes and their DRAM.
func ttFile(t *testing.T, root, name string, asic uint64, processes map[int]uint64) {
	t.Helper()
	b := make([]byte, 9280)
	binary.LittleEndian.PutUint32(b, 1)
	binary.LittleEndian.PutUint64(b[32:], asic)
	slot, total := 992, uint64(0)
	for pid, bytes := range processes {
		binary.LittleEndian.PutUint32(b[slot:], uint32(pid))
		binary.LittleEndian.PutUint64(b[slot+8:], bytes)
		slot, total = slot+128, total+bytes
	}
	binary.LittleEndian.PutUint64(b[48:], total)
	dir := filepath.Join(root, "dev", "shm")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTenstorrentsSharedMemoryIsASourceAndItsDeadProcessesAreCharged(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	absent := OpenSources(context.Background(), SourceOptions{Root: root})
	for _, a := range absent.Absent() {
		if a.Source == TTMetal {
			t.Errorf("its absence is news: %v", a.Err)
		}
	}
	absent.Close()
	const dead = 1<<31 - 2 // beyond every system's highest pid
	ttFile(t, root, "tt_device_1_memory", 1, map[int]uint64{os.Getpid(): 5 << 20, dead: 7 << 20})
	ttFile(t, root, "tt_device_2_memory", 2, map[int]uint64{os.Getpid(): 1 << 20})
	s := OpenSources(context.Background(), SourceOptions{Root: root, Only: []string{TTMetal}})
	defer s.Close()
	if len(s.Absent()) > 0 || !s.Here() {
		t.Fatalf("absent: %v", s.Absent())
	}
	devices := s.Devices(context.Background())
	if len(devices) != 2 || devices[0].UsedBytes != 12<<20 || devices[1].UsedBytes != 1<<20 ||
		devices[0].TotalBytes != Unknown {
		t.Errorf("the devices are %+v", devices)
	}
	c := s.charges(context.Background(), []int{os.Getpid()})
	want := map[onDevice]int64{{os.Getpid(), 0}: 5 << 20, {dead, 0}: 7 << 20, {os.Getpid(), 1}: 1 << 20}
	if len(c.list) != len(want) || c.held[0] != 12<<20 {
		t.Errorf("charges %+v, held %v", c.list, c.held)
	}
	for _, g := range c.list {
		if g.Bytes() != want[onDevice{g.PID, g.Device}] {
			t.Errorf("%+v, want %d bytes", g, want[onDevice{g.PID, g.Device}])
		}
	}

	r := s.Reader()
	defer r.Close()
	read := func(pids ...int) (out []int64) {
		t.Helper()
		list, err := r.Read(pids, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range list {
			out = append(out, int64(g.PID), int64(g.Device), g.Bytes())
		}
		return out
	}
	me := int64(os.Getpid())
	if got := read(os.Getpid(), 1); !slices.Equal(got, []int64{me, 0, 5 << 20, me, 1, 1 << 20}) {
		t.Errorf("read %v", got)
	}
	ttFile(t, root, "tt_device_2_memory", 2, nil) // it gave everything back
	if got := read(os.Getpid(), 1); !slices.Equal(got, []int64{me, 0, 5 << 20, me, 1, 0}) {
		t.Errorf("then %v", got)
	}
}

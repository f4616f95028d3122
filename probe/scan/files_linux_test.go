package scan

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpumem/gpumem/probe/procfs"
)

func TestTheBuildIDOfARealProgramIsRead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
	if err := os.WriteFile(source, []byte("int main(void){return 0;}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-Wl,--build-id=0x00112233445566778899aabbccddeeff", "-o", program,
		source).CombinedOutput(); err != nil {
		t.Fatalf("build a program (needs a C compiler): %v\n%s", err, out)
	}
	f, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if v := versionOf(f, 1, time.Now()); v.ID != "001122334455" {
		t.Errorf("version %q", v.ID)
	}
	if v := versionOf(strings.NewReader("#!/bin/sh\n"), 10, time.Unix(7, 0)); !strings.HasPrefix(v.ID, "~") ||
		len(v.ID) != idDigits {
		t.Errorf("version of a script %q", v.ID)
	}
}

// elf is a small ELF file with one note segment.
func elf(note []byte) []byte {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint64(b[32:], 64)
	binary.LittleEndian.PutUint16(b[54:], 56)
	binary.LittleEndian.PutUint16(b[56:], 1)
	binary.LittleEndian.PutUint32(b[64:], 4)
	binary.LittleEndian.PutUint64(b[64+8:], 120)
	binary.LittleEndian.PutUint64(b[64+32:], uint64(len(note)))
	return append(b, note...)
}

func FuzzBuildID(f *testing.F) {
	good := "\x04\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00\x01\x02\x03\x04"
	f.Add(elf([]byte(good)))
	f.Add(elf([]byte("\x04\x00\x00\x00\xff\xff\xff\xff\x03\x00\x00\x00GNU\x00")))
	f.Add([]byte("\x7fELF\x01\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, ok := BuildID(bytes.NewReader(b))
		if ok != (len(id) > 0) || ok && !bytes.Contains(b, id) {
			t.Errorf("%v %x", ok, id)
		}
	})
}

func FuzzProcessFiles(f *testing.F) {
	f.Add([]byte("1 (a) S 1 1 1 0 -1 4194560 0 0 0 0 150 50 0 0 20 0 3 0 90000 0 0\n"),
		[]byte("Tgid:\t1\nUid:\t0\t0\nVmRSS:\t5 kB\nVmSwap:\t1 kB\n"))
	f.Add([]byte("1 (a) S"), []byte("VmRSS: 99999999999999999999 kB\nVmSwap: 9000000000000000 kB"))
	f.Fuzz(func(t *testing.T, st, status []byte) {
		p := Process{}
		if s, ok := procfs.ParseStat(st); ok {
			p.takeStat(&s, time.Hour)
			if p.Age < 0 || p.State == "" {
				t.Errorf("%+v", p)
			}
		}
		s := procfs.ParseStatus(status)
		p.takeStatus(&s)
		if p.Footprint() < Unknown || p.Memory.RSS < Unknown {
			t.Errorf("%+v", p.Memory)
		}
	})
}

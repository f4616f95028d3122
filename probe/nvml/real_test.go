package nvml

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestTheRealLibraryAnswersOrSaysWhyNot makes a true claim on every machine:
// where NVIDIA's library loads, its figures are consistent; where it does not,
// one line says so and what to try.
func TestTheRealLibraryAnswersOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	l, err := Open(Options{})
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "\n") ||
			!strings.HasPrefix(err.Error(), "nvml: ") {
			t.Fatalf("not one clear line: %q", err)
		}
		if !errors.Is(err, ErrUnsupported) && e.Hint == "" {
			t.Fatalf("does not say what to try: %q", err)
		}
		t.Logf("no library here: %v", err)
		return
	}
	t.Logf("driver %s, limits %q", l.DriverVersion(), l.Limits())
	if l.DriverVersion() == "" {
		t.Error("the driver has no version")
	}
	for _, d := range l.Devices() {
		checkRealDevice(t, l, d)
	}
	s := l.NewSampler()
	defer s.Close()
	if err := s.Sample([]int{os.Getpid()}); err != nil {
		t.Errorf("sample: %v", err)
	}
	if n := s.Bytes(0); n > 0 {
		t.Errorf("the observer holds %d bytes: it must not create a context", n)
	}
	if err := l.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func checkRealDevice(t *testing.T, l *Library, d Device) {
	t.Logf("%+v", d)
	if d.Name == "" || d.UUID == "" || d.PCI == "" {
		t.Errorf("device %d has no identity: %+v", d.Index, d)
	}
	if d.TotalBytes == 0 || d.TotalBytes == Unknown && len(d.Notes) == 0 {
		t.Errorf("device %d: a total of %d bytes without a note", d.Index, d.TotalBytes)
	}
	if d.UsedBytes > d.TotalBytes {
		t.Errorf("device %d uses %d of %d bytes", d.Index, d.UsedBytes, d.TotalBytes)
	}
	list, err := l.Processes(d.Index)
	if err != nil {
		t.Errorf("device %d: %v", d.Index, err)
	}
	for _, p := range list {
		t.Logf("%+v", p)
		if p.Bytes > d.TotalBytes && d.TotalBytes != Unknown {
			t.Errorf("process %d is charged more than the device has: %+v", p.PID, p)
		}
	}
	if _, err := l.Peaks(d.Index); err != nil {
		t.Logf("device %d: %v", d.Index, err)
	}
}

// BenchmarkRealSample prints what a sample costs on this machine's driver.
func BenchmarkRealSample(b *testing.B) {
	l, err := Open(Options{})
	if err != nil {
		b.Skipf("no library on this machine: %v", err)
	}
	s := l.NewSampler()
	defer s.Close()
	pids := []int{os.Getpid()}
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Sample(pids)
	}
}

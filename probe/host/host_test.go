package host

import (
	"context"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v3/host"
)

func TestThisMachineHasItsFacts(t *testing.T) {
	t.Parallel()
	f := Read(context.Background())
	if f.Platform == "" || f.Kernel == "" || f.Memory < 1<<20 || f.Processors < 1 {
		t.Errorf("%+v", f)
	}
	if f.Booted.IsZero() || f.Booted.After(time.Now().Add(time.Minute)) {
		t.Errorf("started at %v", f.Booted)
	}
}

func TestWhatNobodyTellsInTimeIsAbsent(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var b batch
	late, taken := make(chan struct{}), false
	b.ask(func() func() { <-late; return func() { taken = true } })
	b.wait(ctx)
	close(late)
	if taken {
		t.Error("an answer that came too late was taken over")
	}
}

func TestThisProcessIsDescribed(t *testing.T) {
	t.Parallel()
	p := About(context.Background(), os.Getpid())
	if p.Parent != os.Getppid() || len(p.Command) == 0 || p.Started.IsZero() ||
		p.Started.After(time.Now().Add(time.Minute)) {
		t.Errorf("%+v", p)
	}
	if runtime.GOOS == "linux" && p.OpenFiles < 1 {
		t.Errorf("%d open files", p.OpenFiles)
	}
	if rss, err := RSS(context.Background(), os.Getpid()); err != nil || rss < 1<<20 {
		t.Errorf("resident %d, %v", rss, err)
	}
}

func TestNothingIsKnownOfAProcessThatIsNotThere(t *testing.T) {
	t.Parallel()
	for _, pid := range []int{-1, 0, 1<<31 - 2, 1 << 40} {
		p := About(context.Background(), pid)
		if p.Owner != "" || p.Command != nil || !p.Started.IsZero() || p.Parent != 0 ||
			p.OpenFiles != Unknown || p.Cgroup != "" {
			t.Errorf("%d: %+v", pid, p)
		}
		if rss, err := RSS(context.Background(), pid); err == nil || rss != Unknown {
			t.Errorf("%d has %d bytes", pid, rss)
		}
	}
}

func TestSensorsWithoutATemperatureAreLeftOut(t *testing.T) {
	t.Parallel()
	got := sensorsOf([]host.TemperatureStat{
		{SensorKey: "nvme", Temperature: 40, High: 65261.8, Critical: 85}, {SensorKey: "off"},
		{SensorKey: "loose", Temperature: 255},
		{Temperature: 30}, {SensorKey: "coretemp", Temperature: 55, High: 90},
	})
	want := []Sensor{{"coretemp", 55, 90, 0}, {"nvme", 40, 0, 85}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if v := virtualization("kvm", "host"); v != "kvm (host)" {
		t.Errorf("%q", v)
	}
}

func TestAPlatformHasTheNameThatPeopleKnow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n": "Debian GNU/Linux 12 (bookworm)",
		"NAME=Alpine\nVERSION_ID=3.20\n": "Alpine 3.20", "NAME='x'\n": "x", "": "", "junk\n=\n": "",
	} {
		if got := parseRelease(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		Read(context.Background())
	}
}

package drm

import (
	"testing"

	"github.com/gpumem/gpumem/probe/probetest"
	"github.com/gpumem/gpumem/probe/source"
)

func TestVitalsOfCardsAreReadFromSysfsAndWhatIsNotThereIsUnknown(t *testing.T) {
	t.Parallel()
	root := probetest.NewRoot(t)
	amd := "sys/class/drm/card1/device/"
	for name, text := range map[string]string{
		"uevent": "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:43:00.0\n", "gpu_busy_percent": "88\n",
		"mem_busy_percent": "12\n", "hwmon/hwmon3/temp1_input": "61000\n",
		"hwmon/hwmon3/power1_average": "213000000\n", "hwmon/hwmon3/power1_cap": "300000000\n",
		"hwmon/hwmon3/freq1_input": "2100000000\n", "hwmon/hwmon3/freq2_input": "1000000000\n",
	} {
		root.File(amd+name, text)
	}
	root.File("sys/class/drm/card0/device/uevent", "DRIVER=i915\nPCI_SLOT_NAME=0000:00:02.0\n")
	root.File("sys/class/drm/card0/gt_act_freq_mhz", "300\n")
	root.Folder("proc")
	s, err := OpenSource(root.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got := s.(source.VitalSource).Vitals(t.Context())
	intel := source.UnknownVitals()
	intel.MHz = 300
	want := source.Vitals{BusyPercent: 88, MemoryBusyPercent: 12, Celsius: 61, Milliwatts: 213000,
		LimitMilliwatts: 300000, MHz: 2100, MemoryMHz: 1000}
	if len(got) != 2 || got[0] != intel || got[1] != want {
		t.Errorf("got  %+v\nwant %+v, %+v", got, intel, want)
	}
}

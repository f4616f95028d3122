//go:build (amd64 || arm64) && !nodl

package nvml

import (
	"testing"

	"github.com/gpumem/gpumem/probe/nvml/nvmltest"
	"github.com/gpumem/gpumem/probe/source"
)

func TestVitalsAreToldAndWhatADeviceRefusesIsUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		variant nvmltest.Variant
		limit   int64
	}{{nvmltest.Newest, 700000}, {nvmltest.OnlyV1, Unknown}} {
		s, err := OpenSource(t.Context(), Options{Library: nvmltest.Build(t, c.variant, deviceA, deviceB,
			"vitals 0 97 41 63 512340 700000 1980 2619", "vitals 1 0 na 31 na na na na")})
		if err != nil {
			t.Fatal(err)
		}
		got := s.(source.VitalSource).Vitals(t.Context())
		first := source.Vitals{BusyPercent: 97, MemoryBusyPercent: 41, Celsius: 63, Milliwatts: 512340,
			LimitMilliwatts: c.limit, MHz: 1980, MemoryMHz: 2619}
		second := source.UnknownVitals() // one call tells both shares: half an answer is none
		second.Celsius = 31
		if len(got) != 2 || got[0] != first || got[1] != second {
			t.Errorf("got  %+v\nwant %+v, %+v", got, first, second)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got := s.(source.VitalSource).Vitals(t.Context()); len(got) != 2 || got[0] != source.UnknownVitals() {
			t.Errorf("after Close: %+v", got)
		}
	}
}

func TestVitalsFromTheCommandAreReadWithUnknownForBrackets(t *testing.T) {
	t.Parallel()
	got := parseSMIVitals([]byte("97, 41, 63, 512.34, 700.00, 1980, 2619\n[N/A], [N/A], 31, [N/A], [N/A], " +
		"0, [N/A]\nbad\n"))
	second := source.UnknownVitals()
	second.Celsius, second.MHz = 31, 0
	if len(got) != 2 || got[1] != second || got[0] != (source.Vitals{BusyPercent: 97, MemoryBusyPercent: 41,
		Celsius: 63, Milliwatts: 512340, LimitMilliwatts: 700000, MHz: 1980, MemoryMHz: 2619}) {
		t.Errorf("got %+v", got)
	}
}

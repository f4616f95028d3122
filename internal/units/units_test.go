package units

import (
	"math"
	"testing"
)

func TestSizesHaveThreeDigitsAndOneUnit(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[float64]string{
		math.NaN(): "–", math.Inf(1): "–", 0: "0 B", 1: "1 B", .5: "0.50 B", 1023: "1023 B", 1024: "1 KiB",
		1023.5 * 1024: "1.00 MiB", 999.5 * 1024: "1000 KiB", 4 << 20: "4 MiB", 10 << 20: "10.0 MiB",
		9.999 * 1024: "10.0 KiB", 99.99 * 1024: "100 KiB", 158.54 * (1 << 20): "159 MiB",
		-1.3 * (1 << 30): "−1.30 GiB", -.001: "0.00 B", 1 << 62: "4 EiB", 1 << 70: "1024 EiB",
	} {
		if got := Bytes(bytes); got != want {
			t.Errorf("Bytes(%g) = %q, want %q", bytes, got, want)
		}
	}
	if a, b, c := Growth(2048), Growth(-2048), Growth(0); a != "+2 KiB" || b != "−2 KiB" || c != "0 B" {
		t.Errorf("growths: %q %q %q", a, b, c)
	}
}

func TestCountsSharesAndDurationsAreForPeople(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		Count(1234567): "1,234,567", Count(-999): "−999", Count(math.MinInt64): "−9,223,372,036,854,775,808",
		Whole(1234.6): "1,235", Whole(math.NaN()): "–",
		Percent(.0004): "< 0.1 %", Percent(.9999): "> 99.9 %", Percent(.055): "5.5 %", Percent(1): "100 %",
		Seconds(.0073): "7.30 ms", Seconds(0): "0 s", Seconds(90): "90.0 s", Seconds(86400): "24.0 h",
		Seconds(1e9): "31.7 years", Seconds(math.NaN()): "–",
		Counted(1, "process", "processes"): "1 process", Counted(int64(0), "process", "processes"): "0 processes",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestTheEndsOfAnIntervalAreToldApart(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct {
		value, low, high float64
		want             Estimate
	}{
		{4 * mib, 3.98 * mib, 4.02 * mib, Estimate{"+4.00", "MiB", "3.98", "4.02"}},
		{-mib, -3 * mib, mib, Estimate{Minus + "1", "MiB", Minus + "3", "1"}},
		{100, 90, 110, Estimate{"+100", "B", "90", "110"}},
		{2 * mib, math.NaN(), 3 * mib, Estimate{"+2", "MiB", "", ""}},
		{math.NaN(), 1, 2, Estimate{Value: Unknown}},
	} {
		if got := Interval(c.value, c.low, c.high); got != c.want {
			t.Errorf("Interval(%g, %g, %g) = %+v, want %+v", c.value, c.low, c.high, got, c.want)
		}
	}
}

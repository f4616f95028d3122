package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/gpumem/gpumem/report/verdict"
)

func TestWhoAttachedToAProgramIsToldUntilWhenItMayRun(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	v := &verdict.Verdict{Forecast: &verdict.Forecast{Limit: "device memory", CapacityBytes: 80 << 30, P10: 8400}}
	for alive, want := range map[bool]string{
		true:  "restart it before 14:20: at this rate the device memory of 80.0 GiB may be full by then\n",
		false: "",
	} {
		var out bytes.Buffer
		tellRestart(&out, v, alive, at)
		if out.String() != want {
			t.Errorf("alive %v: %q, want %q", alive, out.String(), want)
		}
	}
	var out bytes.Buffer
	if tellRestart(&out, &verdict.Verdict{}, true, at); out.Len() > 0 {
		t.Errorf("without a forecast: %q", out.String())
	}
}

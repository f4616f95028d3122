package main

import (
	"fmt"
	"io"
	"time"

	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/report/verdict"
)

// tellRestart says by when a program that runs on should be restarted, where the
// verdict has a forecast.
func tellRestart(w io.Writer, v *verdict.Verdict, alive bool, now time.Time) {
	text := v.Forecast.RestartBefore(now)
	if !alive || text == "" {
		return
	}
	limit := v.Forecast.Limit
	if v.Forecast.CapacityBytes > 0 {
		limit += " of " + units.Bytes(v.Forecast.CapacityBytes)
	}
	fmt.Fprintf(w, "%s: at this rate the %s may be full by then\n", text, limit)
}

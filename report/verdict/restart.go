package verdict

import "time"

// farRestart is how far away a forecast's time may be to be told as a time: what is
// further is no hurry, and the rate will not stay as it is for so long.
const farRestart = 30 * 24 * time.Hour

// RestartBefore says by which time of the clock a program that runs on should be
// restarted, so that the limit is not reached with a probability of 90 %. The forecast
// was made at that time, and the answer is in its zone; empty without a forecast, and
// where that is more than 30 days away.
func (f *Forecast) RestartBefore(at time.Time) string {
	if f == nil || f.P10 <= 0 || f.P10 > farRestart.Seconds() || at.IsZero() {
		return ""
	}
	full := at.Add(time.Duration(f.P10 * float64(time.Second))).Truncate(time.Minute)
	switch {
	case !full.After(at):
		return "restart it now"
	case full.Sub(at) < 24*time.Hour:
		return "restart it before " + full.Format("15:04")
	}
	return "restart it before " + full.Format("2006-01-02 15:04")
}

package host

import (
	"cmp"
	"context"
	"slices"

	"github.com/shirou/gopsutil/v3/host"
)

// Sensor is a temperature in degrees Celsius. Limits that are not told are 0:
// no sensor has that as one.
type Sensor struct {
	Name           string
	Celsius        float64
	High, Critical float64
}

// hottest is the greatest temperature that is believed: sensors that are not
// connected tell the end of their scale.
const hottest = 200

// Sensors are the temperatures that the machine tells, by name; none where there
// is no sensor, as in most virtual machines, or where the system needs cgo to
// ask (macOS).
func Sensors(ctx context.Context) []Sensor {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	var list []Sensor
	var b batch
	b.ask(func() func() {
		// The error counts the sensors that could not be read; the others hold.
		all, _ := host.SensorsTemperaturesWithContext(ctx)
		return func() { list = sensorsOf(all) }
	})
	b.wait(ctx)
	return list
}

// sensorsOf leaves out what cannot be a temperature.
func sensorsOf(all []host.TemperatureStat) []Sensor {
	var list []Sensor
	for _, s := range all {
		if s.SensorKey != "" && s.Temperature > 0 && s.Temperature < hottest {
			list = append(list, Sensor{Name: s.SensorKey, Celsius: s.Temperature, High: limit(s.High),
				Critical: limit(s.Critical)})
		}
	}
	slices.SortStableFunc(list, func(a, b Sensor) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// limit is a limit that can be meant.
func limit(celsius float64) float64 {
	if celsius > 0 && celsius < hottest {
		return celsius
	}
	return 0
}

package main

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strconv"

	"github.com/gpumem/gpumem/tracer/record"
)

// cutSamples reads the rows of a samples.csv up to a time in milliseconds.
func cutSamples(path string, until float64) (*record.Samples, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var kept bytes.Buffer
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	at := -1
	for lines.Scan() {
		cells := bytes.Split(lines.Bytes(), []byte(","))
		if at < 0 {
			at = slices.IndexFunc(cells, func(c []byte) bool { return string(c) == record.ColTime })
		} else if t, err := strconv.ParseFloat(string(cells[at]), 64); err == nil && t > until {
			continue
		}
		kept.Write(lines.Bytes())
		kept.WriteByte('\n')
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	run, err := record.FromCSV(&kept, path)
	if err != nil {
		return nil, err
	}
	return run.Samples, nil
}

// deviceBegan is when a program first held memory of a device, in milliseconds; 0 of one
// that never did.
func deviceBegan(samples *record.Samples) float64 {
	at := samples.Column(record.ColTime)
	for i := range at {
		for _, name := range [...]string{record.ColGPU, record.ColLive} {
			if c := samples.Column(name); c != nil && c[i] > 0 {
				return at[i]
			}
		}
	}
	return 0
}

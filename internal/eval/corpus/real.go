package corpus

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the traces
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/gpumem/gpumem/tracer/record"
)

//go:embed testdata/traces.tar.gz
var archive []byte

// Real are 24 recorded programs on an NVIDIA H200 (PyTorch, JAX and CuPy, 40
// seconds at 20 Hz each) with the verdict each must get, in order of name.
func Real() ([]*Trace, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, fmt.Errorf("open recorded traces: %w", err)
	}
	truth := map[string]string{}
	var out []*Trace
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read recorded traces: %w", err)
		}
		if h.Name == "labels.csv" {
			rows, err := csv.NewReader(r).ReadAll()
			if err != nil {
				return nil, fmt.Errorf("read labels: %w", err)
			}
			for _, row := range rows[1:] {
				truth[row[0]] = row[1]
			}
			continue
		}
		s, _, err := record.ReadCSV(r, h.Name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", h.Name, err)
		}
		out = append(out, &Trace{Kind: h.Name, Regime: "real", Run: &record.Run{Path: h.Name, Samples: s}})
	}
	for _, t := range out {
		t.Truth = truth[t.Kind]
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Kind < out[j].Kind })
	return out, nil
}

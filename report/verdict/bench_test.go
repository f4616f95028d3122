package verdict

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/gpumem/gpumem/internal/eval/corpus"
	"github.com/gpumem/gpumem/report/series"
	"github.com/gpumem/gpumem/tracer/record"
)

// BenchmarkTrace is one verdict on a trace of 720 rows with eight columns.
func BenchmarkTrace(b *testing.B) {
	var traces []*corpus.Trace
	for i := 0; len(traces) < 20; i++ {
		if t := corpus.One(1, i); t.Run.Samples.Len() == 720 {
			traces = append(traces, t)
		}
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		Judge(traces[i%len(traces)].Run, Options{})
	}
}

// bigCSV is a million rows of twenty columns.
func bigCSV() []byte {
	r := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	names := append([]string{record.ColTime, record.ColStep}, series.ColumnsUsed[:18]...)
	for i, n := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(n)
	}
	out.WriteByte('\n')
	var line []byte
	for i := 0; i < 1_000_000; i++ {
		line = line[:0]
		for c := range names {
			if c > 0 {
				line = append(line, ',')
			}
			v := int64(i) * 50
			if c == 1 {
				v = int64(i / 3)
			}
			if c > 1 {
				v = int64(c)*50*mib + int64(i)*100 + r.Int64N(mib)
			}
			line = strconv.AppendInt(line, v, 10)
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes()
}

// BenchmarkMillionRows is CSV to verdict of a million rows of twenty columns.
func BenchmarkMillionRows(b *testing.B) {
	data := bigCSV()
	b.SetBytes(int64(len(data)))
	b.ResetTimer()
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		s, _, err := record.ReadCSV(bytes.NewReader(data), "big.csv")
		if err != nil {
			b.Fatal(err)
		}
		Judge(&record.Run{Samples: s}, Options{})
	}
}

// BenchmarkMillionRowsJudge is the verdict alone.
func BenchmarkMillionRowsJudge(b *testing.B) {
	s, _, err := record.ReadCSV(bytes.NewReader(bigCSV()), "big.csv")
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		Judge(&record.Run{Samples: s}, Options{})
	}
}

// BenchmarkShortProcesses judges a run of 64 processes with 20,000 short ones beside them.
func BenchmarkShortProcesses(b *testing.B) {
	var at, pid, foot []float64
	var all []record.Event
	row := func(t float64, p int) {
		at, pid, foot = append(at, t), append(pid, float64(p)), append(foot, 1<<30)
	}
	for i := range 20_000 {
		t := float64(i) * 1000
		row(t, 1+i%64)
		row(t+1, 1000+i)
		all = append(all, record.Event{TMs: t + 1, PID: 1000 + i, Kind: record.KindProcess,
			Name: fmt.Sprint("worker ", i)})
	}
	run := &record.Run{Events: all, Samples: record.NewSamples(
		[]string{record.ColTime, record.ColPID, record.ColFootprint}, [][]float64{at, pid, foot})}
	for b.Loop() {
		Judge(run, Options{})
	}
}

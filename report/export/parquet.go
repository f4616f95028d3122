package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"

	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// columnsInOrder is a group whose columns keep their order; parquet.Group
// sorts them by name.
type columnsInOrder struct {
	parquet.Group
	names []string
}

// Fields are the columns in the order of the run.
func (c columnsInOrder) Fields() []parquet.Field {
	byName := make(map[string]parquet.Field, len(c.names))
	for _, f := range c.Group.Fields() {
		byName[f.Name()] = f
	}
	out := make([]parquet.Field, len(c.names))
	for i, name := range c.names {
		out[i] = byName[name]
	}
	return out
}

// parquetBatch is how many rows are handed over at a time.
const parquetBatch = 4096

// writeParquet writes the samples: a column a column, null where a value is
// unknown, INT64 where all values are integers and DOUBLE elsewhere. run.json
// and verdict.json are in the file's metadata as gpumem.run and gpumem.verdict.
func writeParquet(w io.Writer, run *record.Run, v *verdict.Verdict) error {
	var names []string
	var columns [][]float64
	for _, name := range run.Samples.Names() {
		names, columns = append(names, bounded(name)), append(columns, run.Samples.Column(name))
	}
	if len(names) == 0 || run.Samples.Len() == 0 {
		return fmt.Errorf("%w: the run has no samples", ErrNothing)
	}
	whole := make([]bool, len(columns))
	group := columnsInOrder{Group: parquet.Group{}, names: names}
	for i, values := range columns {
		if _, ok := group.Group[names[i]]; ok {
			return fmt.Errorf("two columns are called %q", names[i])
		}
		kind := parquet.DoubleType
		if whole[i] = integers(values) && names[i] != record.ColTime; whole[i] {
			kind = parquet.Int64Type
		}
		group.Group[names[i]] = parquet.Compressed(parquet.Optional(parquet.Leaf(kind)), &parquet.Snappy)
	}
	metadata, err := parquetMetadata(run, v)
	if err != nil {
		return err
	}
	out := parquet.NewWriter(w, append(metadata, parquet.NewSchema("samples", group),
		parquet.CreatedBy("gpumem", "", ""))...)
	for from := 0; from < run.Samples.Len(); from += parquetBatch {
		if _, err := out.WriteRows(parquetRows(columns, whole, from,
			min(from+parquetBatch, run.Samples.Len()))); err != nil {
			return err
		}
	}
	return out.Close()
}

// parquetMetadata is what the file says of the run. A bare CSV has no run.json.
func parquetMetadata(run *record.Run, v *verdict.Verdict) ([]parquet.WriterOption, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	options := []parquet.WriterOption{parquet.KeyValueMetadata("gpumem.verdict", string(text))}
	if run.Meta.Schema == 0 {
		return options, nil
	}
	if text, err = json.Marshal(run.Meta); err != nil {
		return nil, err
	}
	return append(options, parquet.KeyValueMetadata("gpumem.run", string(text))), nil
}

// integers reports whether every known value fits an int64 without loss.
func integers(values []float64) bool {
	for _, v := range values {
		if !record.IsUnknown(v) && (v != math.Trunc(v) || math.Abs(v) >= 1<<63) {
			return false
		}
	}
	return true
}

func parquetRows(columns [][]float64, whole []bool, from, to int) []parquet.Row {
	rows := make([]parquet.Row, 0, to-from)
	cells := make([]parquet.Value, 0, (to-from)*len(columns))
	for n := from; n < to; n++ {
		for c, values := range columns {
			cell, level := parquet.NullValue(), 0
			switch v := values[n]; {
			case record.IsUnknown(v):
			case whole[c]:
				cell, level = parquet.Int64Value(int64(v)), 1
			default:
				cell, level = parquet.DoubleValue(v), 1
			}
			cells = append(cells, cell.Level(0, level, c))
		}
		rows = append(rows, cells[len(cells)-len(columns):])
	}
	return rows
}

package folders

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/cmd/gpumem/usage"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Recording is a run folder in a list.
type Recording struct {
	Path    string        `json:"path"`
	Start   time.Time     `json:"start"`
	Seconds *float64      `json:"seconds,omitempty"` // nil while it runs, or where its end was not recorded
	Bytes   int64         `json:"bytes"`
	Verdict verdict.Class `json:"verdict,omitempty"` // empty without verdict.json
	Answer  string        `json:"answer,omitempty"`
}

// In are the run folders in dir, the newest first. What cannot be read is
// none.
func In(dir string) ([]Recording, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, usage.Absent(err, dir, "give the folder that the recordings are in")
	}
	list := []Recording{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.IsDir() {
			continue
		}
		meta, err := record.ReadMeta(path)
		if err != nil || meta.Start.IsZero() {
			continue
		}
		r := Recording{Path: path, Start: meta.Start, Bytes: bytesIn(path)}
		if meta.End != nil {
			r.Seconds = plain.Seconds(meta.End.Sub(meta.Start))
		}
		r.Verdict, r.Answer = answerIn(path)
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b Recording) int {
		return cmp.Or(b.Start.Compare(a.Start), strings.Compare(a.Path, b.Path))
	})
	return list, nil
}

// bytesIn is what the files of a folder take.
func bytesIn(dir string) int64 {
	var sum int64
	entries, _ := os.ReadDir(dir) // one that is gone meanwhile takes nothing
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
	}
	return sum
}

// answerIn is what verdict.json of a folder says; nothing where there is none that
// can be read.
func answerIn(dir string) (verdict.Class, string) {
	const most = 16 << 20
	f, err := record.OpenMember(dir, record.FileVerdict)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	var v verdict.Verdict
	if err := json.NewDecoder(io.LimitReader(f, most)).Decode(&v); err != nil {
		return "", ""
	}
	return v.Verdict, v.Answer
}

// Newest is the recording in dir that began last.
func Newest(dir string) (string, error) {
	list, err := In(dir)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", usage.Errorf("there is no recording here; name a run folder, a CSV or a log")
	}
	return list[0].Path, nil
}

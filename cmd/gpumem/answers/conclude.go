package answers

import (
	"errors"
	"fmt"
	"io"

	"github.com/gpumem/gpumem/report"
	"github.com/gpumem/gpumem/report/verdict"
	"github.com/gpumem/gpumem/tracer/record"
)

// Conclude reads a run folder back, judges it, and adds verdict.json,
// report.html and, when sites are known, allocations.pb.gz. print shows the
// answer; the folder is completed also when that fails, and the verdict holds
// also when neither can be written.
func Conclude(dir string, judging verdict.Options, producer string,
	print func(*record.Run, *verdict.Verdict) error) (v *verdict.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil { // the program's exit code is not lost for a defect of ours
			err = errors.Join(err,
				fmt.Errorf("internal error of gpumem while judging %s: %v; please report it", dir, p))
		}
	}()
	run, err := record.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("read the run back: %w", err)
	}
	v = verdict.Judge(run, judging)
	return v, errors.Join(addReports(dir, run, v, producer), print(run, v))
}

// addReports writes the files of a run folder that a verdict fills. One that
// cannot be written keeps none of the others back.
func addReports(dir string, run *record.Run, v *verdict.Verdict, producer string) error {
	var failed []error
	for _, file := range []struct {
		name   string
		format report.Format
	}{{record.FileVerdict, report.JSON}, {record.FileReport, report.HTML},
		{record.FileAllocations, report.PProf}} {
		o := report.Options{Producer: producer}
		err := record.WriteFile(dir, file.name, func(w io.Writer) error {
			return report.Write(w, file.format, run, v, o)
		})
		if err != nil && !errors.Is(err, report.ErrNoSites) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Save writes a whole run as the run folder dir: run.json as run.Meta is, so
// without counts of rows that no Writer took, the samples with the columns they
// have, which need not have times, and the events. What was wrong with the file
// that the run came from (Run.Warnings) stands before the events as warnings.
// Open reads it back. Errors are those of Create and of the disk; what could be
// written then stays.
func Save(dir string, run *Run, o CreateOptions) error {
	w, err := Create(dir, run.Meta, o)
	if err != nil {
		return err
	}
	var failed []error
	for _, warning := range run.Warnings {
		failed = append(failed, w.Event(Event{Kind: KindWarning, Text: warning.String()}))
	}
	for _, e := range run.Events {
		failed = append(failed, w.Event(e))
	}
	return errors.Join(append(failed, w.events.close(), saveSamples(dir, run.Samples))...)
}

func saveSamples(dir string, s *Samples) error {
	if s == nil {
		s = &Samples{}
	}
	f, err := os.OpenFile(filepath.Join(dir, FileSamples), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, fileMode)
	if err != nil {
		return fmt.Errorf("write samples: %w", err)
	}
	return errors.Join(WriteCSV(f, s), f.Close())
}

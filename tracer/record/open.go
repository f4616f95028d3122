package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ErrNotRun is returned by Open for a folder that holds neither run.json nor
// samples.csv.
var ErrNotRun = errors.New("not a run folder")

// maxMeta bounds run.json.
const maxMeta = 16 << 20

// Open reads a run folder, or a bare CSV with any subset of the columns in any
// order (see ReadCSV). Of a folder every file may be missing, cut or broken, as
// a kill leaves it: what is wrong comes back in Run.Warnings, and Samples is
// never nil. The error is for a path that holds no run at all: absent,
// ErrNotRun, ErrNotSamples; and for a folder with a member that is no regular
// file, ErrNotRegular (see OpenMember). The files are read as they stand; a run
// that is still being written gives the rows so far. What looks
// like a secret is masked: the folder may come from a version that did not, or from
// another tool.
func Open(path string) (*Run, error) {
	run, err := open(path)
	if run != nil {
		run.Mask()
	}
	return run, err
}

func open(path string) (*Run, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	if info.IsDir() {
		return openFolder(path)
	}
	f, err := OpenInput(path)
	if err != nil {
		return nil, fmt.Errorf("open run: %w", err)
	}
	defer f.Close()
	return FromCSV(f, path)
}

// FromCSV reads a bare CSV from r as Open does; path is its name.
func FromCSV(r io.Reader, path string) (*Run, error) {
	s, warn, err := ReadCSV(r, filepath.Base(path))
	if err != nil && s.Len() == 0 {
		return nil, err
	}
	if err != nil {
		warn = append(warn, Warning{File: filepath.Base(path), Text: err.Error()})
	}
	return &Run{Path: path, Samples: s, Warnings: warn}, nil
}

func openFolder(dir string) (*Run, error) {
	if err := CheckMembers(dir); err != nil {
		return nil, err
	}
	run := &Run{Path: dir, Samples: &Samples{}}
	metaErr := run.readMeta()
	samplesErr := run.readFile(FileSamples, func(r io.Reader) (warn []Warning, err error) {
		run.Samples, warn, err = readCSV(r, FileSamples, true)
		return warn, err
	})
	if errors.Is(metaErr, os.ErrNotExist) && errors.Is(samplesErr, os.ErrNotExist) {
		return nil, fmt.Errorf("open run %s: %w", dir, ErrNotRun)
	}
	run.note(FileMeta, metaErr)
	if errors.Is(samplesErr, os.ErrNotExist) {
		run.warn(FileSamples, "no samples: the program ended before the first, or the tracer did")
	} else {
		run.note(FileSamples, samplesErr)
	}
	err := run.readFile(FileEvents, func(r io.Reader) (warn []Warning, err error) {
		run.Events, warn, err = readEvents(r, FileEvents)
		return warn, err
	})
	if !errors.Is(err, os.ErrNotExist) { // a run without a mark has no events
		run.note(FileEvents, err)
	}
	return run, nil
}

// readMeta reads run.json.
func (run *Run) readMeta() (err error) {
	if run.Meta, err = ReadMeta(run.Path); err == nil && run.Meta.Schema > 1 {
		run.warn(FileMeta, fmt.Sprintf("schema %d is newer than this gpumem knows", run.Meta.Schema))
	}
	return err
}

// readFile reads one file of the folder and takes its warnings.
func (run *Run) readFile(name string, read func(io.Reader) ([]Warning, error)) error {
	f, err := OpenMember(run.Path, name)
	if err != nil {
		return err
	}
	defer f.Close()
	warn, err := read(f)
	run.Warnings = append(run.Warnings, warn...)
	return err
}

func (run *Run) note(file string, err error) {
	if err != nil {
		run.warn(file, err.Error())
	}
}

func (run *Run) warn(file, text string) {
	run.Warnings = append(run.Warnings, Warning{File: file, Text: text})
}

package tracer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gpumem/gpumem/internal/secret"
	"github.com/gpumem/gpumem/internal/units"
	"github.com/gpumem/gpumem/tracer/record"
)

// logShare is the part of the run folder's bound that each of stdout.log and stderr.log
// may take: 64 MiB of the usual 512.
const logShare = 8

// programLog is a file that the program writes its output to by itself, so that nothing
// of it is lost when we are killed. Its bound is kept by taking the middle out: the
// program appends undisturbed, and the beginning and the end stay.
type programLog struct {
	file   *os.File // for the program; it appends
	most   int64    // bytes; 0 is no bound
	out    int64    // bytes from head() on that were taken out
	failed bool     // the file system takes nothing out of a file
}

// head is how much of the beginning stays.
func (l *programLog) head() int64 { return l.most / 4 &^ (pageBytes - 1) }

// pageBytes is the unit in which file systems take something out of a file.
const pageBytes = 4096

// bound takes out what is too much, and reports whether that is the first time. An error
// is told once; the log then has no bound.
func (l *programLog) bound() (first bool, err error) {
	if l.most == 0 || l.failed {
		return false, nil
	}
	info, err := l.file.Stat()
	if err != nil {
		return false, nil // the next look may know
	}
	from := l.head() + l.out
	over := (info.Size() - from - (l.most - l.head())) &^ (pageBytes - 1)
	if over < l.most/16 && over < 1<<20 || over <= 0 {
		return false, nil // not worth a call yet
	}
	if err := takeOut(l.file, from, over); err != nil {
		l.failed = true
		return false, fmt.Errorf("%s grows without a bound: %w", filepath.Base(l.file.Name()), err)
	}
	first = l.out == 0
	l.out += over
	return first, nil
}

// shorten closes the gap once the program has ended: behind the beginning comes a line
// that says how much is missing, and then the end.
func (l *programLog) shorten() (err error) {
	if l.out == 0 {
		return nil
	}
	f, err := os.OpenFile(l.file.Name(), os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("close the gap in the program's log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	at := l.head()
	note := fmt.Sprintf("\n[gpumem: %s are left out here]\n", units.Bytes(l.out))
	n, err := f.WriteAt([]byte(note), at)
	if err != nil {
		return err
	}
	to := io.NewOffsetWriter(f, at+int64(n))
	rest, err := io.Copy(to, io.NewSectionReader(f, at+l.out, 1<<62))
	if err != nil {
		return err
	}
	return f.Truncate(at + int64(n) + rest)
}

// openLogs opens the files that take what the program writes.
func (s *attempt) openLogs() error {
	for _, log := range [...]struct {
		name string
		file **os.File
	}{{record.FileStdout, &s.cfg.Stdout}, {record.FileStderr, &s.cfg.Stderr}} {
		file, err := os.OpenFile(filepath.Join(s.out.Dir(), log.name),
			os.O_CREATE|os.O_WRONLY|os.O_TRUNC|os.O_APPEND, 0o600)
		if err != nil {
			s.closeLogs()
			return fmt.Errorf("open the program's logs: %w", err)
		}
		*log.file, s.logs = file, append(s.logs, &programLog{file: file, most: s.cfg.Keep / logShare})
	}
	return nil
}

// boundLogs keeps the program's logs within their bound, and says once that it does.
func (s *attempt) boundLogs() {
	for _, l := range s.logs {
		first, err := l.bound()
		if err != nil {
			s.warn(err.Error())
		}
		if first {
			s.warn(fmt.Sprintf("the program writes more than %s into %s: its beginning and its end are kept",
				units.Bytes(l.most), filepath.Base(l.file.Name())))
		}
	}
}

// closeLogs closes our end of the logs; the program has its own. What in them has
// the shape of a secret is masked: not before, since the program writes into the
// files itself, so that nothing of its output is lost when we are killed.
func (s *attempt) closeLogs() {
	warn := func(text string) { s.result.Warnings = append(s.result.Warnings, text) }
	for _, l := range s.logs {
		if !s.result.Left {
			if err := l.shorten(); err != nil {
				warn(err.Error())
			}
		}
		l.file.Close()
		_, partly, err := secret.Overwrite(l.file.Name())
		switch {
		case err != nil:
			warn(err.Error())
		case partly:
			warn(filepath.Base(l.file.Name()) +
				" is long: what looks like a secret is masked in its first 64 MiB only")
		}
	}
	s.logs = nil
}

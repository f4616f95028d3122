package tracer

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// guard does a part of the recording's work. A panic in it is our defect, not
// the program's misfortune: it ends the recording with one warning that says
// where, and nothing else. What was recorded stays, the program runs on, and so
// does the wait for its end.
func (r *recording) guard(work func()) {
	defer func() {
		if p := recover(); p != nil {
			r.fail(p, panicPlace())
		}
	}()
	work()
}

// fail ends the recording because of a panic. Each part of the work holds the
// lock only in functions that give it back while they panic.
func (r *recording) fail(p any, place string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	text := fmt.Sprintf(
		"internal error of gpumem: %s (%s): the recording ended here, the program ran on; please report it",
		clip(fmt.Sprint(p)), place)
	defer close(r.failed)
	defer func() {
		r.ended = true
		recover() // the writer itself may be what broke: the caller is told all the same
	}()
	r.warnLocked(text)
}

// recovered makes an error of a panic on the caller's own goroutine.
func recovered(doing string, err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: internal error of gpumem: %s (%s); please report it", doing,
			clip(fmt.Sprint(p)), panicPlace())
	}
}

// panicPlace is where the panic began that is being recovered: the first frame
// below the runtime's.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	panicked := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		case !more:
			return "place unknown"
		}
	}
}

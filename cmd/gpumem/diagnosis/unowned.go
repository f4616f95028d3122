package diagnosis

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/plain"
	"github.com/gpumem/gpumem/report/verdict"
)

// Unowned is what drives a growth of device memory that is certain and that no
// account can be charged with: from outside nobody can tell live, idle and
// untracked apart. Nil when there is no such growth. The engine leaves the
// verdict undecided then, and fits a driver to no other undecided verdict.
func Unowned(v *verdict.Verdict) *verdict.DrivenBy {
	if v.Verdict != verdict.Undecided || v.DrivenBy == nil || !(v.DrivenBy.Low > 0) {
		return nil
	}
	return v.DrivenBy
}

// UnownedText says what is known of such a growth.
func UnownedText(d *verdict.DrivenBy) string {
	per := strings.ReplaceAll(d.Per, "_", " ")
	return fmt.Sprintf(
		"device memory grows by %s a %s (95 %%: %s to %s); whether the program, its pool or the driver "+
			"holds it cannot be seen from outside",
		plain.Size(int64(d.Value)), per, plain.Size(int64(d.Low)), plain.Size(int64(d.High)))
}

// unownedNext is what settles whose growth it is while the program runs; command is
// the program's.
func unownedNext(pid int, command string) string {
	return fmt.Sprintf(
		"attach to it, which asks a Python program itself, and as root the driver too: gpumem attach %d; or "+
			"run it under gpumem: gpumem run -- %s", pid, command)
}

// OwnedBy is what settles it once gpumem has attached, and could not tell; pid is 0
// when the program has ended.
func OwnedBy(pid int, command string) string {
	run := "run it under gpumem, which sees what it and its framework hold: gpumem run -- " + command
	if pid == 0 {
		return run
	}
	return fmt.Sprintf(
		"%s; or, while it runs and as root, look at what it asks of the driver: gpumem attach %d --inject "+
			"ebpf", run, pid)
}

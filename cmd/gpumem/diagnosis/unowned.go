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

// UnownedNext is what settles whose growth it is; command is the program's, pid
// 0 when it has ended.
func UnownedNext(pid int, command string) string {
	run := "run it under gpumem, which sees what it and its framework hold: gpumem run -- " + command
	if pid == 0 {
		return run
	}
	return fmt.Sprintf(
		"%s; or, while it runs and as root, look at what it asks of the driver: gpumem attach %d --inject "+
			"ebpf", run, pid)
}

package main

import (
	"fmt"
	"strings"

	"github.com/gpumem/gpumem/report/verdict"
)

// unowned is what drives a growth of device memory that is certain and that no
// account can be charged with: from outside nobody can tell live, idle and
// untracked apart. Nil when there is no such growth. The engine leaves the
// verdict undecided then, and fits a driver to no other undecided verdict.
func unowned(v *verdict.Verdict) *verdict.DrivenBy {
	if v.Verdict != verdict.Undecided || v.DrivenBy == nil || !(v.DrivenBy.Low > 0) {
		return nil
	}
	return v.DrivenBy
}

// unownedText says what is known of such a growth.
func unownedText(d *verdict.DrivenBy) string {
	per := strings.ReplaceAll(d.Per, "_", " ")
	return fmt.Sprintf("device memory grows by %s a %s (95 %%: %s to %s); whether the program, its pool or the driver holds it cannot be seen from outside",
		sizeText(int64(d.Value)), per, sizeText(int64(d.Low)), sizeText(int64(d.High)))
}

// unownedNext is what settles whose growth it is; command is the program's, pid
// 0 when it has ended.
func unownedNext(pid int, command string) string {
	run := "run it under gpumem, which sees what it and its framework hold: gpumem run -- " + command
	if pid == 0 {
		return run
	}
	return fmt.Sprintf("%s; or, while it runs and as root, look at what it asks of the driver: gpumem attach %d --inject ebpf", run, pid)
}

// of is the exit code that a verdict is turned into. Growth of which nobody can
// tell whose it is belongs to one of the four accounts, so it counts where all
// four are named, with the code of undecided.
func (f failOn) of(v *verdict.Verdict) int {
	if f.everyGrowth() && unowned(v) != nil {
		return findingCodes[verdict.Undecided]
	}
	return f.code(v.Verdict)
}

// everyGrowth reports whether any growth is to fail.
func (f failOn) everyGrowth() bool {
	return f[verdict.AppLeak] && f[verdict.PoolGrowth] && f[verdict.DriverGrowth] && f[verdict.HostGrowth]
}

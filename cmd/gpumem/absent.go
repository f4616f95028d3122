package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// checkResumed refuses to go on in a folder that is not there, before anything is done.
func checkResumed(dir string) error {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return usagef("--resume %s: there is no such folder; gpumem ls lists the recordings here, and "+
			"without --resume attach makes a new one", dir)
	}
	return nil
}

// unknownProgram says what a word could have been that is neither a workload nor a
// program: a workload or an interpreter written nearly so, else where the workloads are
// listed.
func unknownProgram(word string) string {
	near := usage.Suggest(word, append(workloadNames(), "python", "python3", "torchrun",
		"accelerate", "bash"))
	if strings.HasPrefix(near, "; did you mean") {
		return near
	}
	return "; gpumem workloads lists the workloads"
}

package main

import (
	"fmt"

	"github.com/gpumem/gpumem/probe/scan"
)

// toolingEnv is what a process's environment switches on that makes memory
// grow without a leak, for run.json; nil when that is nothing, or not told.
func toolingEnv(p *scan.Process) map[string]string {
	var env map[string]string
	for _, tool := range p.Tooling {
		if env == nil {
			env = map[string]string{}
		}
		env[tool.Variable] = tool.Value
	}
	return env
}

// toolingNotes says which processes run with such tools, the first few.
func toolingNotes(s *scan.Scan) []string {
	const most = 5
	var notes []string
	for i := range s.Processes {
		p := &s.Processes[i]
		if len(p.Tooling) > 0 && len(notes) < most {
			notes = append(notes, fmt.Sprintf("PID %d (%s) runs with %s; what that keeps is no leak of the program",
				p.PID, programName(p), p.Tooling[0]))
		}
	}
	return notes
}

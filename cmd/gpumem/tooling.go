package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/scan"
	"github.com/gpumem/gpumem/tracer"
	"github.com/gpumem/gpumem/tracer/record"
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

// warnOfBundle has a run warn of what the bundle of its program switches on: no
// variable of the environment, which a run records by itself, tells that.
func warnOfBundle(cfg *tracer.Config) {
	program, err := exec.LookPath(cfg.Command[0])
	if err != nil {
		return // the tracer says so
	}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		program = real
	}
	for _, tool := range apple.BundleTooling(program) {
		text := fmt.Sprintf("the program runs with %s; what that keeps is no leak of the program", tool)
		cfg.Watch = append(cfg.Watch, func(_ context.Context, _ int, emit func(record.Event)) {
			emit(record.Event{Kind: record.KindWarning, Text: text})
		})
	}
}

package main

import (
	"testing"

	"github.com/gpumem/gpumem/probe/apple"
	"github.com/gpumem/gpumem/probe/scan"
)

func TestARunRecordsTheToolsOfItsProcess(t *testing.T) {
	t.Parallel()
	p := scan.Process{Tooling: []apple.Tool{{Variable: "NSZombieEnabled", Value: "YES"}}}
	if env := toolingEnv(&p); len(env) != 1 || env["NSZombieEnabled"] != "YES" {
		t.Errorf("recorded: %v", env)
	}
	if env := toolingEnv(&scan.Process{}); env != nil {
		t.Errorf("of a process without tools: %v", env)
	}
}

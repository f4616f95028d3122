package main

import (
	"strings"
	"testing"

	"github.com/gpumem/gpumem/probe/scan"
)

func TestNobodyIsToldToBecomeTheUserHeIs(t *testing.T) {
	t.Parallel()
	p := scan.Process{PID: 1, Name: "init", UID: 0, Owner: "root"}
	mine := scan.Process{PID: 7, Name: "agent", UID: 1000, Owner: "ann"}
	for _, c := range []struct {
		p    *scan.Process
		euid int
		says string
		not  string
	}{
		{&p, 0, "does not let even root read its files here", "as root"},
		{&mine, 0, "capability SYS_PTRACE", "as that user"},
		{&mine, 1000, "is yours", "as that user"},
		{&p, 1000, "run gpumem as that user or as root", "yours"},
	} {
		text := unreadable(c.p, c.euid).Error()
		if !strings.Contains(text, c.says) || strings.Contains(text, c.not) ||
			!strings.Contains(text, "--partial") {
			t.Errorf("to user %d: %s", c.euid, text)
		}
	}
}

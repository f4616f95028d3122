package apple

import (
	"errors"
	"strings"
	"syscall"
	"testing"
)

func TestErrorsOfTheSystemAreOneLineOfAKind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		kind error
		want string
	}{
		{errnoError("read the usage", 7, uintptr(syscall.EPERM)), ErrPermission,
			"read the usage of process 7: the process is another user's"},
		{errnoError("read the usage", 7, uintptr(syscall.ESRCH)), ErrGone, "no such process"},
		{errnoError("read the usage", 7, uintptr(syscall.EINVAL)), nil, "invalid argument"},
		{errnoError("read the usage", 7, 0), nil, "gave no reason"},
		{kernError("find the task", 7, 5), ErrPermission, "another user's"},
		{kernError("read the ledger", 7, 0x10000003), ErrGone, "the task is gone"},
		{kernError("list GPUs", 0, -536870206), nil, "list GPUs: kern_return_t 0xe00002c2"},
	} {
		if !strings.Contains(c.err.Error(), c.want) || strings.Contains(c.err.Error(), "\n") {
			t.Errorf("%q, want %q in it", c.err, c.want)
		}
		for _, kind := range []error{ErrPermission, ErrGone, ErrUnsupported} {
			if errors.Is(c.err, kind) != (c.kind == kind) {
				t.Errorf("%q is %v: %v", c.err, kind, errors.Is(c.err, kind))
			}
		}
	}
}

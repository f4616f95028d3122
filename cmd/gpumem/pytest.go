package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpumem/gpumem/cmd/gpumem/injection"
	"github.com/gpumem/gpumem/tracer/agent/python"
)

func newPytestCommand(std stdio, getenv func(string) string) *cobra.Command {
	return &cobra.Command{
		Use:   "pytest -- ARGS…",
		Short: "Run pytest with a leak check around every test",
		Long: `pytest runs "python3 -m pytest" with a plugin that collects, purges and compares
memory after every test. A test that keeps memory twice in a row fails with its
survivors. It works without a GPU, on host memory. The mark
@pytest.mark.gpumem(warmup=…, tolerance=…, skip=…) sets these for one test; pytest
--help lists the options that begin with --gpumem. GPUMEM_PYTHON names another
interpreter. The exit code is pytest's. Where the Python package is installed
(docs/install.md), pytest --gpumem does the same.`,
		Example: `  gpumem pytest -- tests/
  gpumem pytest -- -k forward --gpumem-tolerance 4MiB`,
		RunE: func(cmd *cobra.Command, args []string) error {
			interpreter := getenv("GPUMEM_PYTHON")
			if interpreter == "" {
				interpreter = "python3"
			}
			return runPytest(std, interpreter, args)
		},
	}
}

// runPytest runs pytest with the plugin on its path.
func runPytest(std stdio, interpreter string, args []string) error {
	where, vars, remove, err := injection.InstallPython()
	if err != nil {
		return err
	}
	defer remove()
	plugin := []string{"-m", "pytest", "-p", "gpumem.pytest_plugin", "--gpumem"}
	cmd := exec.Command(interpreter, append(plugin, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
	cmd.Env = os.Environ()
	for name, value := range vars {
		if name == python.EnvPath { // the plugin lies beside the agent
			value = strings.Join([]string{filepath.Join(where, "lib"), value}, string(os.PathListSeparator))
		}
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	// What the plugin asks of gpumem, it asks of this one.
	if self, err := os.Executable(); err == nil && os.Getenv(injection.EnvBinary) == "" {
		cmd.Env = append(cmd.Env, injection.EnvBinary+"="+self)
	}
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return usagef("%s is not there; GPUMEM_PYTHON names another interpreter", interpreter)
	case errors.As(err, &exit):
		return &codeError{exit.ExitCode()}
	}
	return err
}

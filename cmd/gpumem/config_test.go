package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/settings"
)

// placed writes files below a new folder and returns it.
func placed(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestADefaultIsTakenFromTheNearestPlace(t *testing.T) {
	t.Parallel()
	dir := placed(t, map[string]string{
		"home/gpumem/config.toml":    "interval = '4s'\nsites = true\nleftover = '2MiB'",
		"project/pyproject.toml":     "[tool.gpumem]\ninterval = '3s'\nfail-on = ['app-leak', 'host-growth']",
		"project/sub/pyproject.toml": "[tool.other]\ninterval = '9s'",
	})
	for name, c := range map[string]struct {
		given []string
		env   string
		want  string
	}{
		"the command line": {[]string{"--interval", "1s"}, "2s", "1s"},
		"the environment":  {nil, "2s", "2s"},
		"the project":      {nil, "", "3s"},
	} {
		f, flags := defaultRunFlags(), pflag.NewFlagSet("run", pflag.ContinueOnError)
		f.add(flags)
		if err := flags.Parse(c.given); err != nil {
			t.Fatal(err)
		}
		getenv := func(key string) string {
			return map[string]string{"XDG_CONFIG_HOME": filepath.Join(dir, "home"),
				"GPUMEM_DEFAULT_INTERVAL": c.env}[key]
		}
		if err := settings.Apply(flags, getenv, filepath.Join(dir, "project", "sub")); err != nil {
			t.Fatal(err)
		}
		if f.interval.String() != c.want || strings.Join(f.failOn, " ") != "app-leak host-growth" || !f.sites {
			t.Errorf("%s: interval %s, fail-on %q, sites %t", name, f.interval, f.failOn, f.sites)
		}
	}
}

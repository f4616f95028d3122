package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/pflag"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

// known are the flags of run and attach that have defaults of the user's: in the
// environment, in a project's pyproject.toml, or in a file of the user's own. They
// neither name files nor start anything: a project may be somebody else's.
func known() []string {
	return []string{"fail-on", "first-touch", "interval", "leftover", "purge", "quiet", "sites", "theme",
		"tui", "verbose"}
}

// Where settings stand.
const (
	defaultPrefix = "GPUMEM_DEFAULT_" // and the flag's name, in capitals
	ProjectFile   = "pyproject.toml"  // [tool.gpumem]
	userFile      = "gpumem/config.toml"
)

// mostConfig bounds a file of settings.
const mostConfig = 1 << 20

// Apply sets each flag that was not given: by the environment, else by the
// nearest pyproject.toml at or above dir that has [tool.gpumem], else by the user's
// own file. What is said wrong there is an error that names the place.
func Apply(flags *pflag.FlagSet, getenv func(string) string, dir string) error {
	for _, name := range known() {
		key := defaultPrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if text := getenv(key); text != "" {
			if err := applySetting(flags, key, name, text); err != nil {
				return err
			}
		}
	}
	project, at, err := projectSettings(dir)
	if err != nil {
		return err
	}
	if err := applyTable(flags, at, project); err != nil {
		return err
	}
	path := filepath.Join(configHome(getenv), filepath.FromSlash(userFile))
	own, err := readTOML(path)
	if err != nil {
		return err
	}
	return applyTable(flags, path, own)
}

// configHome is where the user's own files of settings are, by the XDG Base Directory
// Specification; without a home there is none.
func configHome(getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(getenv("HOME"), ".config")
}

// projectSettings are those of the nearest pyproject.toml that has any, and its path.
func projectSettings(dir string) (map[string]any, string, error) {
	for {
		path := filepath.Join(dir, ProjectFile)
		file, err := readTOML(path)
		if err != nil {
			return nil, "", err
		}
		tool, _ := file["tool"].(map[string]any)
		if table, ok := tool["gpumem"].(map[string]any); ok {
			return table, path, nil
		}
		if filepath.Dir(dir) == dir {
			return nil, "", nil
		}
		dir = filepath.Dir(dir)
	}
}

// readTOML reads a file; one that is not there, or may not be read, has nothing.
func readTOML(path string) (map[string]any, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out map[string]any
	if _, err := toml.NewDecoder(io.LimitReader(f, mostConfig)).Decode(&out); err != nil {
		return nil, usage.Errorf("%s: %v", path, err)
	}
	return out, nil
}

// applyTable sets the flags that a file's table names, in order of their names.
func applyTable(flags *pflag.FlagSet, path string, table map[string]any) error {
	var names []string
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if !slices.Contains(known(), name) {
			return usage.Errorf("%s: gpumem has no setting %q%s", path, name, usage.Suggest(name, known()))
		}
		text, err := settingText(table[name])
		if err != nil {
			return usage.Errorf("%s: %s: %v", path, name, err)
		}
		if err := applySetting(flags, path, name, text); err != nil {
			return err
		}
	}
	return nil
}

// settingText is a value as the flag reads it.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case string, bool, int64, float64:
		return fmt.Sprint(v), nil
	case []any:
		var parts []string
		for _, one := range v {
			text, ok := one.(string)
			if !ok {
				return "", errors.New("must be a list of strings")
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ","), nil
	}
	return "", errors.New("must be a string, a number, true, false or a list of strings")
}

// applySetting sets a flag that nobody has set. A command without that flag has no use
// for it.
func applySetting(flags *pflag.FlagSet, where, name, text string) error {
	f := flags.Lookup(name)
	if f == nil || f.Changed || name == "tui" && flags.Changed("no-tui") {
		return nil
	}
	if err := flags.Set(name, text); err != nil {
		return usage.Errorf("%s: %v", where, usage.OfFlag(flags, err))
	}
	return nil
}

package host

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/shirou/gopsutil/v3/host"
)

// platform is the system's name and version. Where there is os-release, that is
// read: gopsutil would start lsb_release, which takes a tenth of a second.
func platform(ctx context.Context) (string, error) {
	for _, path := range [...]string{"/etc/os-release", "/usr/lib/os-release"} {
		if b, err := os.ReadFile(path); err == nil {
			if name := parseRelease(string(b)); name != "" {
				return name, nil
			}
		}
	}
	name, _, version, err := host.PlatformInformationWithContext(ctx)
	if name == "" && err == nil {
		err = errors.New("the system does not tell its name")
	}
	return strings.TrimSpace(name + " " + version), err
}

// parseRelease is the name for people in os-release, else the name with the
// version.
func parseRelease(text string) string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[key] = strings.TrimSpace(strings.Trim(value, `"'`))
	}
	if name := found["PRETTY_NAME"]; name != "" {
		return name
	}
	return strings.TrimSpace(found["NAME"] + " " + found["VERSION_ID"])
}

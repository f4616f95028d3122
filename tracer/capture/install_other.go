//go:build !linux || (!amd64 && !arm64)

package capture

func libraryHomes() []string { return nil }

func install([]string) (string, error) { return "", ErrUnsupported }

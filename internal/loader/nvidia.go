package loader

import "runtime"

// NVIDIA are the places of a library of NVIDIA's driver, by its name on Linux
// and on Windows: the loader's own search first, then WSL's and NixOS's, which
// lie outside it; on Windows the system's folder, where drivers since 2019 put
// it.
func NVIDIA(linux, windows string) []string {
	if runtime.GOOS == "windows" {
		return []string{windows}
	}
	return []string{linux, "/usr/lib/wsl/lib/" + linux, "/run/opengl-driver/lib/" + linux}
}

//go:build !linux || (!amd64 && !arm64)

package capture

// library is empty where there is nothing to interpose.
var library []byte

package capture

import _ "embed"

// library is the interposer as built by scripts/build_interposer.sh.
//
//go:embed libgpumem_amd64.so
var library []byte

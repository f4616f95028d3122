//go:build unix

package publishing

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/cmd/gpumem/usage"
)

func TestATokenThatOthersMayReadIsRefusedWithTheRemedy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false,
		0o644: false} {
		if err := errors.Join(os.WriteFile(path, []byte(" secret\n"), 0o600),
			os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		token, err := readToken(path)
		if ok && (err != nil || token != "secret") {
			t.Errorf("%o: %q, %v", mode, token, err)
		}
		var wrong *usage.Error
		if !ok && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), "chmod 600 "+path)) {
			t.Errorf("%o: %q, %v", mode, token, err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, make([]byte, maxToken+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readToken(path); err == nil || !strings.Contains(err.Error(), "longer than 64 KiB") {
		t.Errorf("a long file: %v", err)
	}
}

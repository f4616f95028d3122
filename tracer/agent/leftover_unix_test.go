//go:build unix

package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gpumem/gpumem/internal/leftover"
)

func TestTheSocketsOfKilledServersAreSweptAndThoseOfLivingOnesStay(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	claim := func(name string) (string, *leftover.Lock) {
		dir := filepath.Join(temp, folderPrefix+name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := leftover.Claim(dir)
		if err != nil {
			t.Fatal(err)
		}
		return dir, lock
	}
	killed, lock := claim("killed")
	living, held := claim("living")
	defer held.Release()
	if err := lock.Release(); err != nil { // as the kernel does
		t.Fatal(err)
	}
	s, err := Listen(&ear{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Listen(&ear{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(s.Path()); err != nil {
		t.Errorf("a server that listens was swept: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(killed); err == nil {
		t.Error("the folder of a killed server is still there")
	}
	if _, err := os.Stat(living); err != nil {
		t.Errorf("the folder of a living server: %v", err)
	}
}

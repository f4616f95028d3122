package report

import (
	"os"
	"testing"
)

func TestLook(t *testing.T) {
	os.WriteFile("/tmp/look.html", []byte(render(t, HTML, leakRun(1200), leakVerdict(), Options{Producer: "gpumem 0.1.0"})), 0o644)
	os.WriteFile("/tmp/look2.html", []byte(render(t, HTML, retentionRun(), retentionVerdict(), Options{})), 0o644)
	os.WriteFile("/tmp/look3.html", []byte(render(t, HTML, hostileRun(), hostileVerdict(), Options{})), 0o644)
}

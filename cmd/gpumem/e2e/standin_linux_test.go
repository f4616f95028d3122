//go:build amd64 || arm64

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/gpumem/gpumem/report/verdict"
)

// quietLeak asks the CUDA driver for a MiB a step and keeps it. With an argument
// it is a framework as well, whose pool says that it holds the same throughout.
const quietLeak = `#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
int cuInit(unsigned);
int cuMemAlloc_v2(uint64_t *, size_t);
static int tracer = -1;
static void tell(const char *line) { if (send(tracer, line, strlen(line), MSG_NOSIGNAL) < 0) exit(1); }
int main(int argc, char **argv) {
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	struct timespec t;
	uint64_t p;
	char line[256];
	cuInit(0);
	if (argc > 1) {
		strncpy(at.sun_path, getenv("GPUMEM_AGENT"), sizeof at.sun_path - 1);
		tracer = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(tracer, (struct sockaddr *)&at, sizeof at)) return 1;
		snprintf(line, sizeof line, "{\"hello\":{\"v\":1,\"pid\":%d,\"agent\":\"c\"}}\n", getpid());
		tell(line);
	}
	for (int i = 0; i < 250; i++, usleep(20000)) {
		cuMemAlloc_v2(&p, 1 << 20);
		if (argc < 2) continue;
		clock_gettime(CLOCK_MONOTONIC, &t);
		snprintf(line, sizeof line, "{\"sample\":{\"t_ns\":%lld,\"pool_live_bytes\":1048576,\"pool_idle_bytes\":0,\"live_count\":1}}\n",
			 t.tv_sec * 1000000000LL + t.tv_nsec);
		tell(line);
	}
}
`

// TestALeakAtTheDriverShowsWhereNothingChargesTheProcess is a container, WSL or a
// driver without numbers by process: NVML tells nothing, the capture does.
func TestALeakAtTheDriverShowsWhereNothingChargesTheProcess(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the quick lane leaves this to the whole")
	}
	dir := t.TempDir()
	program := onStubDriver(t, dir, quietLeak)
	for _, c := range []struct {
		name  string
		args  []string
		class verdict.Class
		words string
	}{
		{"pool", []string{"with", "a", "pool"}, verdict.DriverGrowth,
			"most of it asked of the driver outside the pool"},
		{"bare", nil, verdict.AppLeak, "the program asked the driver for"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"-q", "--inject", "preload", "--", program}, c.args...)
			_, v := decided(t, dir, noLibrary(t), c.name, args...)
			if v.Verdict != c.class || !strings.Contains(v.Summary, c.words) {
				t.Errorf("%s, want %s with %q: %s", v.Verdict, c.class, c.words, v.Summary)
			}
			byMain := func(s verdict.SiteRow) bool { return strings.HasSuffix(s.Site, " main") }
			if !slices.ContainsFunc(v.Sites, byMain) {
				t.Errorf("the site is not main: %+v", v.Sites)
			}
			standsIn := func(s string) bool {
				return strings.HasPrefix(s, "gpu_bytes: ") && strings.Contains(s, "stands in")
			}
			if !slices.ContainsFunc(v.Missing, standsIn) {
				t.Errorf("what stands in is not said: %q", v.Missing)
			}
		})
	}
}

package agent

import (
	"strconv"
	"time"
)

const (
	defaultInterval = 50 * time.Millisecond
	// maxSettleMs bounds what a tracer may ask of GPUMEM_SETTLE_MS.
	maxSettleMs = 5000
	// maxRank bounds what is believed to be a rank.
	maxRank = 1 << 24
)

// envInterval reads GPUMEM_INTERVAL_MS; what is no sensible number of
// milliseconds is the default.
func envInterval(value string) time.Duration {
	ms, err := strconv.ParseFloat(value, 64)
	if err != nil || !(ms >= 1 && ms <= 3_600_000) {
		return defaultInterval
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// envSettle reads GPUMEM_SETTLE_MS; what is no sensible number of milliseconds
// is no wait.
func envSettle(value string) time.Duration {
	ms, err := strconv.ParseFloat(value, 64)
	if err != nil || !(ms >= 0) {
		return 0
	}
	return time.Duration(min(ms, maxSettleMs) * float64(time.Millisecond))
}

// rankNames are the variables in which launchers number the processes of a job:
// torchrun, Open MPI, MPICH and Intel MPI, MVAPICH, Slurm; and last the number
// within one machine, for want of a better one.
var rankNames = [...]string{
	"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID",
	"LOCAL_RANK",
}

// Rank is the number that a process has in its job according to its environment,
// or nil when that names none. getenv returns "" for what is not set.
func Rank(getenv func(string) string) *int {
	for _, name := range rankNames {
		if n, err := strconv.Atoi(getenv(name)); err == nil && n >= 0 && n < maxRank {
			return &n
		}
	}
	return nil
}

package agent

import "strconv"

// maxRank bounds what is believed to be a rank.
const maxRank = 1 << 24

// rankNames are the variables in which launchers number the processes of a job:
// torchrun, Open MPI, MPICH and Intel MPI, MVAPICH, Slurm; and last the number
// within one machine, for want of a better one.
var rankNames = [...]string{
	"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID", "LOCAL_RANK",
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

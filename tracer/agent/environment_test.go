package agent

import "testing"

func TestTheRankIsTheJobsBeforeTheMachines(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, c := range []struct {
		environ map[string]string
		want    int
	}{
		{nil, none},
		{map[string]string{"RANK": "3", "LOCAL_RANK": "1"}, 3},
		{map[string]string{"LOCAL_RANK": "1"}, 1},
		{map[string]string{"OMPI_COMM_WORLD_RANK": "12"}, 12},
		{map[string]string{"PMI_RANK": "0", "SLURM_PROCID": "7"}, 0},
		{map[string]string{"SLURM_PROCID": "7", "LOCAL_RANK": "2"}, 7},
		{map[string]string{"RANK": "-1"}, none},
		{map[string]string{"RANK": "first", "PMI_RANK": "4"}, 4},
		{map[string]string{"RANK": "99999999999999999999"}, none},
	} {
		got := none
		if rank := Rank(func(name string) string { return c.environ[name] }); rank != nil {
			got = *rank
		}
		if got != c.want {
			t.Errorf("%v: rank %d, want %d", c.environ, got, c.want)
		}
	}
}

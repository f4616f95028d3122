package e2e

import (
	"encoding/json"
	"regexp"
	"testing"
)

func TestPartsOfASplitDeviceAndClientsOfItsServiceAreShown(t *testing.T) {
	t.Parallel()
	one, two := start(t, "sleep", "600"), start(t, "sleep", "600")
	_, env := stub(t,
		"part 0 1 0 MIG-aa 10737418240 1073741824", "part 0 2 0 MIG-bb 21474836480 3221225472",
		"part 0 2 1 MIG-cc 21474836480 3221225472",
		"process 0 c "+pidOf(one)+" 1048576000 1 0", "process 0 c "+pidOf(two)+
			" 2097152000 2 1", "process 0 m "+pidOf(two)+" 2097152000 2 1")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"devices"}, []string{
			`(?m)^cuda:0 +140 GiB +4.39 GiB +H200 `,
			`(?m)^  MIG 1/0 +10.0 GiB +1 GiB +MIG-aa$`,
			`(?m)^  MIG 2/1 +20.0 GiB +3 GiB +memory of MIG 2/0, MIG-cc$`,
		}},
		{[]string{"diagnose"}, []string{
			`(?m)^ +MIG 1/0 +10.0 GiB +1 GiB +1000 MiB +MIG-aa$`,
			`(?m)^ +MIG 2/0 +20.0 GiB +3 GiB +0 B +MIG-bb$`,
			`(?m)^ +MIG 2/1 +20.0 GiB +3 GiB +1.95 GiB +memory of MIG 2/0, MIG-cc$`,
			`(?m)^  device 0: 1 process through the multi-process service \(MPS\)$`,
		}},
	} {
		got := gpumemEnv(t, t.TempDir(), env, c.args...)
		if got.code != 0 {
			t.Fatalf("%v: exit code %d\n%s", c.args, got.code, got.stderr)
		}
		for _, want := range c.want {
			if !regexp.MustCompile(want).MatchString(got.stdout) {
				t.Errorf("%v: no %s in\n%s", c.args, want, got.stdout)
			}
		}
	}
	var told struct {
		Devices []struct {
			MPS       int `json:"mps_clients"`
			Instances []struct {
				UUID string
				Held *int64 `json:"held_by_processes_bytes"`
			}
		}
	}
	got := gpumemEnv(t, t.TempDir(), env, "diagnose", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &told); err != nil || len(told.Devices) == 0 ||
		len(told.Devices[0].Instances) != 3 {
		t.Fatalf("%v, %+v", err, told)
	}
	d := told.Devices[0]
	if held := d.Instances[2].Held; d.MPS != 1 || d.Instances[2].UUID != "MIG-cc" || held == nil ||
		*held != 2097152000 {
		t.Errorf("%+v", d)
	}
}

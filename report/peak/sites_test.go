package peak

import "testing"

func TestTheLineOfABlockIsTheInnermostOfTheProgram(t *testing.T) {
	const packages = "/v/lib/python3.12/site-packages/"
	for _, c := range []struct {
		frames []string
		want   string
	}{
		{nil, ""},
		{[]string{packages + "torch/nn/functional.py:9 relu", "/home/me/train.py:7 step"}, "/home/me/train.py:7 step"},
		{[]string{packages + "numpy/core/numeric.py:205 ones", "/v/lib/python3.12/functools.py:909 wrapper",
			"<frozen runpy>:88 _run_code", "/home/me/load.py:3 load"}, "/home/me/load.py:3 load"},
		{[]string{packages + "torch/functional.py:1 zeros", "/home/me/torch/train.py:7 step"},
			"/home/me/torch/train.py:7 step"},
		{[]string{packages + "torch/functional.py:1 zeros", packages + "vllm/engine.py:7 step"},
			packages + "vllm/engine.py:7 step"},
		{[]string{packages + "torch/functional.py:1 zeros"}, packages + "torch/functional.py:1 zeros"},
	} {
		if got := programLine(c.frames); got != c.want {
			t.Errorf("%q: the line is %q, want %q", c.frames, got, c.want)
		}
	}
}

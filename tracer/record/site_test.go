package record

import "testing"

func TestASiteIsTakenApart(t *testing.T) {
	t.Parallel()
	for site, want := range map[string]Place{
		"train.py:11 <module>":        {"train.py", 11, "<module>"},
		"C:/src/a.py:7 f":             {"C:/src/a.py", 7, "f"},
		`C:\src\x.cu:9 k`:             {`C:\src\x.cu`, 9, "k"},
		"a.go:12:5 pkg.Func (matmul)": {"a.go", 12, "pkg.Func (matmul)"},
		"x.go:7":                      {"x.go", 7, ""},
		"at::native::conv2d":          {Name: "at::native::conv2d"},
		"/a b/x.go:7:3 f":             {Name: "/a b/x.go:7:3 f"},
		"a.py:0 f":                    {Name: "a.py:0 f"},
		"a.py:12x f":                  {Name: "a.py:12x f"},
		":5 f":                        {Name: ":5 f"},
		"just a name":                 {Name: "just a name"},
		"":                            {},
	} {
		if got := PlaceOf(site); got != want {
			t.Errorf("%q: %+v, want %+v", site, got, want)
		}
	}
}

package secret

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func FuzzMasking(f *testing.F) {
	for _, c := range planted {
		f.Add(c.in, " ")
	}
	for _, s := range harmlessTexts {
		f.Add(s, "'")
	}
	f.Add("token=ab\"cd\"ef", "\\\"password\\\":\\\"")
	f.Add("a='\xff--key='", "https://a:b:c@d@e/")
	f.Fuzz(func(t *testing.T, a, b string) {
		text := Text(a)
		if again := Text(text); again != text {
			t.Errorf("%q becomes %q and then %q", a, text, again)
		}
		if len(text) > 3*len(a) {
			t.Errorf("%q grows to %q", a, text)
		}
		args := strings.Split(a, "\x00")
		masked := Args(args)
		if again := Args(masked); !slices.Equal(again, masked) {
			t.Errorf("%q becomes %q and then %q", args, masked, again)
		}
		new(Tally).Named(a, b)
		if out := new(Tally).JSON([]byte(a)); json.Valid([]byte(a)) && !json.Valid(out) {
			t.Errorf("%q becomes %q", a, out)
		}
		const shaped, named = "ghp_zqzqzqzqzqzqzqzqzqzqzqzqzqzqzqzq0123", "zqplanted77"
		texts := []string{a + " " + shaped + " " + b}
		// Text that leaves a name without its value, or a quote open, takes what
		// follows for that.
		if !strings.ContainsAny(a, "=:\"'`-[{(,\\") {
			texts = append(texts, a+"\nPGPASSWORD="+named+"\n"+b, a+" https://u:"+named+"@h.example.org/ "+b,
				a+" --password "+named+" "+b, a+` {"api_key":"`+named+`"} `+b)
		}
		for _, s := range texts {
			if got := Text(s); strings.Contains(got, shaped) || strings.Contains(got, named) &&
				!strings.Contains(a+b, named) {
				t.Errorf("%q is left in %q", s, got)
			}
		}
	})
}

package injection

import "testing"

func TestAProfileThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "steps", "steps:0", "steps:x", "after:-1", "shape:3", "steps:3;after:1"} {
		if _, err := ProfileSetting(value); err == nil {
			t.Errorf("%q passed", value)
		}
	}
	for value, want := range map[string]string{"auto": "", "off": "0", "steps:3,after:100": "steps:3,after:100"} {
		if got, err := ProfileSetting(value); err != nil || got != want {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
}

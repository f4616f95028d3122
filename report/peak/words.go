package peak

import "strings"

// short is a site, "file:line function", without the folders of its file.
func short(site string) string {
	file, rest, found := strings.Cut(site, ".py:")
	if !found {
		return site
	}
	return file[strings.LastIndexAny(file, `/\`)+1:] + ".py:" + rest
}

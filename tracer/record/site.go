package record

import (
	"strconv"
	"strings"
)

// Place is an allocation site taken apart.
type Place struct {
	File string // empty when the site is a name alone
	Line int64  // from 1; 0 without a file
	Name string // of the function, as far as the site has one
}

// PlaceOf takes Site.Site apart, "file:line func" or "file:line:column func".
// What does not begin with a file and a line is a name.
func PlaceOf(site string) Place {
	where, name, _ := strings.Cut(site, " ")
	parts := strings.Split(where, ":")
	for i := 1; i < len(parts); i++ {
		if line, err := strconv.ParseInt(parts[i], 10, 64); err == nil && line > 0 && parts[0] != "" {
			return Place{strings.Join(parts[:i], ":"), line, name}
		}
	}
	return Place{Name: site}
}

package secret

import "strings"

// masks reports whether a value under a name of this grade is a secret.
func (g grade) masks(value string) bool {
	value = strings.Trim(value, "\"' \t\r\n")
	switch g {
	case about:
		return isRandom(value)
	case weak:
		return !isSetting(value) && !isSmall(value) && !isPath(value)
	case strong:
		return !isSetting(value) && !(isKeyFile(value) && !strings.HasSuffix(value, ".txt") &&
			!strings.HasSuffix(value, ".py"))
	}
	return false
}

// isSetting reports a value that switches something or names a well-known kind.
func isSetting(value string) bool {
	value = strings.TrimRight(value, ")")
	if len(value) > 16 {
		return false
	}
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "none", "null", "nil", "auto", "default", "always",
		"never", "required", "optional",
		"enabled", "disabled", "basic", "digest", "ntlm", "negotiate", "oauth", "oauth2", "oidc", "ldap",
		"kerberos", "gssapi", "bearer",
		"env", "value", "prompt", "stdin", "-", "mit", "apache-2.0", "bsd-3-clause", "bsd",
		"gpl", "gpl-3.0", "len",
		"lambda", "str", "int":
		return true
	}
	return false
}

// isSmall reports a number with at most three digits before the point.
func isSmall(value string) bool {
	if len(value) > 12 {
		return false
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(value, "-"), ".")
	return whole != "" && len(whole) <= 3 && len(fraction) <= 6 && digits(whole) && digits(fraction)
}

func digits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}

// isPath reports a path, whose parts look like names.
func isPath(value string) bool {
	if !rooted(value) {
		return isKeyFile(value)
	}
	for part := range strings.SplitSeq(value, "/") {
		if isRandom(part) || strings.ContainsAny(part, "+=@:?&") {
			return false
		}
	}
	return true
}

func rooted(value string) bool {
	for _, root := range [...]string{"./", "../", "~/"} {
		if strings.HasPrefix(value, root) {
			return true
		}
	}
	// A secret in base64 may begin with a slash: a path has two, or a short name.
	return strings.HasPrefix(value, "/") && (strings.Count(value, "/") > 1 || len(value) < 12 &&
		len(value) > 1 && isLetter(value[1]))
}

// isKeyFile reports the name of a file that holds keys or other data.
func isKeyFile(value string) bool {
	dot := strings.LastIndexByte(value, '.')
	if dot < 1 || strings.ContainsAny(value, " =&?@:") || isRandom(value[:dot]) ||
		strings.ContainsAny(value, `/\`) && !rooted(value) {
		return false
	}
	switch value[dot+1:] {
	case "pem", "key", "crt", "cer", "json", "txt", "yaml", "yml", "toml", "csv", "p12", "pfx", "jks", "npy",
		"npz", "pub", "bin", "py":
		return true
	}
	return false
}

// leastRandom is the length from which a word may be told to be random, in bytes.
const leastRandom = 20

// longRandom is how much of a word is looked at, in bytes.
const longRandom = 256

// isRandom reports a long word of letters and digits that no person would have
// made up: sixteen hexadecimal bytes, or often changing kinds of characters.
func isRandom(value string) bool {
	long := len(value) >= leastRandom
	value = value[:min(len(value), longRandom)]
	if !long || strings.IndexByte(value, ' ') >= 0 {
		return false
	}
	upper, lower, digit, changes, hex := 0, 0, 0, 0, 0
	last := byte(0)
	for i := range len(value) {
		c := value[i]
		class := last // marks between parts change nothing
		switch {
		case isDigit(c):
			digit++
			class = '0'
		case isUpper(c):
			upper++
			class = 'A'
		case isLetter(c):
			lower++
			class = 'a'
		}
		if isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' {
			hex++
		}
		if class != last && i > 0 {
			changes++
		}
		last = class
	}
	if hex == len(value) && digit > 2 && digit < len(value) {
		return true
	}
	return digit > 0 && upper+lower > 0 && changes*4 >= len(value) && (upper > 0 && lower > 0 ||
		changes*3 >= len(value))
}

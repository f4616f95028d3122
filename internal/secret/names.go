package secret

import "strings"

// grade is how surely the value of a name is a secret.
type grade uint8

const (
	// plain names have no word of a secret.
	plain grade = iota
	// about names speak of a secret's file, size or kind, or of keys and tokens
	// that are none: only a value that looks random is masked.
	about
	// weak names have a word that has other meanings as well: small numbers,
	// plain settings and paths stay.
	weak
	// strong names are of secrets: every value but a yes or no is masked.
	strong
)

// mostName bounds how much of the end of a name is looked at, in bytes.
const mostName = 128

// mostWords bounds the words of a name, counted from its end.
const mostWords = 12

// kind is what a word of a name says.
type kind uint8

const (
	other       kind = iota
	surely           // PASSWORD
	maybe            // TOKEN
	several          // TOKENS: a plural, mostly counted
	qualifier        // API: what makes a KEY surely one
	description      // COUNT, FILE: what is said about a secret
	harmless         // SORT, EOS: what makes a KEY or TOKEN none
	flag             // NO, USE: what makes an option a switch
	transparent      // VALUE: the word before counts; the last kind
)

// kindOf is the kind of a word, which is in capitals.
//
// SALT, LICENSE and their like are here because their values often are secrets.
// Words that merely contain one of these (MONKEY, AUTHOR, TOKENIZER) are others.
func kindOf(word string) kind {
	switch word {
	case "PASSWORD", "PASSWORDS", "PASSWD", "PASSPHRASE", "PASSCODE", "PASSIN", "PASSOUT",
		"SECRET", "SECRETS",
		"CREDENTIAL", "CREDENTIALS", "CRED", "CREDS", "BEARER", "JWT", "AUTHORIZATION",
		"COOKIE", "COOKIES", "DSN",
		"USERPWD", "USERPASS", "MNEMONIC":
		return surely
	case "KEY", "TOKEN", "AUTH", "OAUTH", "PASS", "PW", "PWD", "SESSION", "SESSIONID", "SALT", "LICENSE",
		"LICENCE",
		"SIGNATURE", "SIG", "PRIVATE", "PRIV", "OTP", "TOTP", "SAS":
		return maybe
	case "KEYS", "TOKENS", "PASSES", "SESSIONS", "SALTS", "LICENSES", "SIGNATURES":
		return several
	case "API", "APP", "ACCESS", "ENCRYPTION", "SIGNING", "MASTER", "SSH", "SHARED", "ACCOUNT", "SERVICE",
		"STORAGE",
		"DEPLOY", "ADMIN", "ROOT", "HF", "GITHUB", "GITLAB", "GH", "REFRESH", "CLIENT", "AWS", "OPENAI",
		"ANTHROPIC",
		"WANDB", "SLACK", "NPM", "CSRF", "XSRF":
		return qualifier
	case "COUNT", "COUNTS", "SIZE", "SIZES", "LEN", "LENGTH", "LENGTHS", "DIM", "DIMS",
		"NAMES", "FILE", "FILES",
		"FILENAME", "JAR", "PATH", "PATHS", "DIR", "FOLDER", "TYPE", "TYPES", "IDS", "MODE",
		"LIMIT", "LIMITS",
		"TIMEOUT", "TTL",
		"BITS", "NUM", "NUMBER", "FORMAT", "ALGORITHM", "ALG", "ALGO", "METHOD", "METHODS",
		"MECHANISM", "SOCK",
		"SOCKET",
		"STDIN", "FD", "DESCRIPTION", "PROVIDER", "BACKEND", "SCHEME", "DOMAIN", "HOST", "PORT", "URL", "URI",
		"ENDPOINT",
		"ADDRESS", "ISSUER", "SCOPE", "SCOPES", "ROTATION", "EXPIRY", "EXPIRES", "LIFETIME", "AGE", "POLICY",
		"STORE",
		"MANAGER", "USER", "USERNAME", "BUDGET", "RATE", "WINDOW", "INTERVAL", "LATENCY",
		"THROUGHPUT", "USAGE",
		"COST",
		"PREFIX", "SUFFIX", "VERSION", "STATUS", "ENABLED", "REQUIRED", "BYTES", "SERVER",
		"VALIDATION", "PATTERN",
		"LAYOUT", "TOOL", "HELPER", "MS", "SECONDS", "SEC", "THROUGH", "PARALLELISM", "DROPOUT", "LOSS":
		return description
	case "NO", "SKIP", "USE", "ENABLE", "DISABLE", "WITH", "WITHOUT", "ALLOW", "REQUIRE", "ASK", "PROMPT",
		"SHOW", "PRINT",
		"CHECK", "VERIFY", "IGNORE", "TRUST":
		return flag
	case "SORT", "ORDER", "GROUP", "PARTITION", "FOREIGN", "MAP", "LABEL", "TEXT", "IMAGE", "AUDIO", "VIDEO",
		"INPUT",
		"OUTPUT", "TARGET", "FEATURE", "METRIC", "MONITOR", "JOIN", "PUBLIC", "PUB", "BATCH", "PRNG", "RNG",
		"RANDOM",
		"PARAM", "CONFIG", "DICT", "QUERY", "KV", "UNIQUE", "HOT", "ROUTING", "DEDUP", "EVENT",
		"NODE", "EDGE",
		"ATTENTION", "HEAD", "HEADS", "CONTEXT", "MAX", "MIN", "N", "NEW", "TOTAL", "PER",
		"PAD", "PADDING", "EOS",
		"BOS",
		"UNK", "SEP", "CLS", "STOP", "SPECIAL", "START", "END", "FIRST", "LAST", "NEXT", "SECOND", "SINGLE",
		"MULTI",
		"FORWARD", "BACKWARD", "RENDER", "LOW", "HIGH", "BAND", "ONE", "TWO", "BY", "DRAFT", "COMPLETION",
		"GENERATED",
		"MASKED", "MASK", "DESKTOP", "CACHE", "STATE", "INDEX", "COLUMN", "COLUMNS", "FIELD",
		"SHAPE", "SHAPES",
		"CLASS",
		"NAME", "EMBEDDING", "EMBEDDINGS", "EMBED", "POSITION", "OFFSET", "WEIGHT", "WEIGHTS", "BIAS", "PROJ",
		"PROJECTION":
		return harmless
	case "VALUE", "VAL", "STRING", "STR", "RAW", "DATA", "BASE", "HEX", "":
		return transparent
	}
	return joined(word)
}

// joined is the kind of a word made of others without a mark between them.
func joined(word string) kind {
	for _, end := range [...]string{
		"PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "CREDENTIALS", "CREDENTIAL", "PASSWORDS", "SECRETS",
		"AUTHTOKEN", "APIKEY", "APIKEYS",
	} {
		if strings.HasSuffix(word, end) {
			return surely
		}
	}
	if strings.HasSuffix(word, "PWD") || strings.HasSuffix(word, "TOKEN") {
		return maybe
	}
	if front, ok := strings.CutSuffix(word, "KEY"); ok {
		switch front {
		case "ACCESS", "SECRET", "PRIVATE", "PRIV", "SSH", "MASTER", "AUTH", "APP", "LICENSE",
			"SIGNING", "SIGN",
			"ENCRYPTION", "ENCRYPT", "ENC", "AES",
			"RSA", "HMAC", "SERVICE", "ACCOUNT", "STORAGE", "DB", "DEPLOY", "SHARED", "PASS", "CLIENT",
			"USER", "HOST",
			"TLS", "SSL", "WEP", "WPA", "PSK":
			return surely
		}
	}
	if front, ok := strings.CutSuffix(word, "PASS"); ok {
		switch front {
		case "DB", "USER", "SSH", "SMTP", "MYSQL", "PG", "ADMIN", "ROOT", "MAIL", "REDIS",
			"FTP", "HTTP", "PROXY",
			"KEY", "STORE", "LDAP", "VNC", "SUDO", "MY",
			"RSYNC", "GPG", "SQL", "RABBIT", "MONGO", "CERT", "SSL", "SHARE", "WIFI", "LOGIN":
			return surely
		}
	}
	if front, ok := strings.CutSuffix(word, "AUTH"); ok {
		switch front {
		case "HTTP", "BASIC", "PROXY", "REQUIRE", "USER", "REDIS", "CLI", "MY":
			return maybe
		}
	}
	return other
}

// gradeOf grades a name by its words: the last ones say what it is.
func gradeOf(name string) grade {
	name = trimName(name)
	if len(name) < 2 || wholeNames(name) {
		return plain
	}
	var found words
	for n := 0; len(name) > 0 && n < mostWords; {
		var k kind
		if name, k = lastWord(name); k == transparent {
			continue
		}
		if n == 0 {
			found.last = k
		}
		found.has[k]++
		n++
	}
	return found.grade()
}

// words count the kinds of a name's words.
type words struct {
	last kind
	has  [transparent]int
}

// grade weighs the words of a name.
func (w *words) grade() grade {
	sure, maybes, plurals := w.has[surely] > 0, w.has[maybe], w.has[several]
	qualified := w.has[qualifier] > 0 || maybes > 1 // API_KEY, AUTH_TOKEN
	switch {
	case !sure && maybes+plurals == 0:
		return plain
	case w.last == description:
		return about
	case sure && w.has[harmless]+w.has[flag] > 0:
		return weak
	case sure:
		return strong
	case w.has[flag] > 0, w.has[harmless] > 0 && !qualified, plurals > 0 && (maybes == 0 && !qualified ||
		w.has[harmless] > 0):
		return about
	case qualified && w.has[harmless] == 0 && plurals == 0:
		return strong
	}
	return weak
}

// wholeNames are names that have a word of a secret and are none.
func wholeNames(name string) bool {
	switch name {
	case "PWD", "OLDPWD", "DESKTOP_SESSION", "GDMSESSION":
		return true
	}
	return false
}

// trimName cuts dashes, a Java property's -D, and all but the last part of a
// dotted name that says something.
func trimName(name string) string {
	if len(name) > mostName {
		name = name[len(name)-mostName:]
	}
	if strings.HasPrefix(name, "-D") && len(name) > 3 {
		name = name[2:]
	}
	name = strings.Trim(name, "-._")
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot < 0 {
			return name
		}
		part := name[dot+1:]
		if _, k := lastWord(part); k != transparent || strings.ContainsAny(part, "_-") {
			return part
		}
		name = strings.Trim(name[:dot], "-._")
	}
}

// lastWord cuts the last word off a name: at a mark, or where its case changes.
func lastWord(name string) (rest string, k kind) {
	end := len(name)
	for end > 0 && !isLetter(name[end-1]) {
		end--
	}
	at := end
	for at > 0 && isLetter(name[at-1]) && !(at < end && startsWord(name, at)) {
		at--
	}
	var buf [24]byte
	word := name[at:end]
	if len(word) > len(buf) {
		word = word[len(word)-len(buf):]
	}
	for i := range len(word) {
		buf[i] = word[i] &^ 0x20 // letters only
	}
	return name[:at], kindOf(string(buf[:len(word)]))
}

// startsWord reports whether a word of camelCase begins at i: aB, or ABc at B.
func startsWord(name string, i int) bool {
	if !isUpper(name[i]) {
		return false
	}
	return !isUpper(name[i-1]) || i+1 < len(name) && isLetter(name[i+1]) && !isUpper(name[i+1]) &&
		!(name[i+1] == 's' && i+2 == len(name))
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

package secret

import "strings"

// program is a program, or a family of them, that takes a password in an option
// whose name does not say so.
type program uint8

const (
	none program = iota
	mysql
	sshpass
	curl
	redis
	mongo
	ldap
	sql
	zip
	archive // 7z, rar
	ipmi
	samba
	oracle
	openssl
	container // docker: -p is a password of login, -u is no user:password
	wandb
	settings // programs that are told NAME VALUE
)

func programOf(name string) program {
	switch name {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mysqlcheck", "mysqlpump",
		"mysqlslap",
		"mysqlbinlog", "mysqlsh",
		"mariadb", "mariadb-dump", "mariadb-admin", "mariadb-check", "mariadb-import", "mariadb-show":
		return mysql
	case "sshpass":
		return sshpass
	case "curl", "wget", "http", "https", "xh":
		return curl
	case "redis-cli", "valkey-cli":
		return redis
	case "mongo", "mongosh", "mongodump", "mongorestore", "mongoexport", "mongoimport":
		return mongo
	case "ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldappasswd", "ldapwhoami", "ldapcompare":
		return ldap
	case "sqlcmd", "bcp", "osql", "tsql":
		return sql
	case "zip", "unzip", "zipcloak":
		return zip
	case "7z", "7za", "7zr", "7zz", "rar", "unrar":
		return archive
	case "ipmitool":
		return ipmi
	case "smbclient", "rpcclient", "smbget":
		return samba
	case "sqlplus", "expdp", "impdp", "sqlldr":
		return oracle
	case "openssl":
		return openssl
	case "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "az", "oc", "kubectl", "crictl":
		return container
	case "wandb", "vault":
		return wandb
	case "aws", "npm", "pnpm", "yarn", "pip", "git", "poetry", "conda", "gcloud", "dvc",
		"doctl", "mc", "rclone":
		return settings
	}
	return none
}

// how says which part of a word is the secret.
type how uint8

const (
	nothing how = iota
	all
	behindColon
	behindPercent
	behindSlash
	ifOdd
)

// option is an option that was read and whose value is awaited.
type option struct {
	how   how
	grade grade
	name  string
}

// value is the part of the word s[from:to] that is the secret.
func (o option) value(s string, from, to int) (f, t int, ok bool) {
	word := s[from:to]
	if word == "" {
		return 0, 0, false
	}
	switch o.how {
	case all:
		isNext := strings.HasPrefix(word, "--") || word[0] == '-' && (len(word) == 2 || o.grade < strong)
		return from, to, !isNext && o.grade.masks(word)
	case ifOdd:
		return from, to, len(word) >= 8 && isOdd(word)
	case behindColon:
		return behind(s, from, to, ':')
	case behindPercent:
		return behind(s, from, to, '%')
	case behindSlash:
		f, t, ok = behind(s, from, to, '/')
		if at := strings.LastIndexByte(word, '@'); ok && from+at > f {
			t = from + at
		}
		return f, t, ok
	}
	return 0, 0, false
}

// behind is what stands behind a mark: of two numbers (uid:gid), of a URL and of
// a path nothing.
func behind(s string, from, to int, mark byte) (f, t int, ok bool) {
	word := s[from:to]
	at := strings.IndexByte(word, mark)
	if at < 0 || at+1 == len(word) || strings.HasPrefix(word[at:], "://") || digits(word[:at]) &&
		digits(word[at+1:]) && at > 0 ||
		at == 1 && strings.IndexByte(`\/`, word[at+1]) >= 0 || strings.ContainsAny(word[:at], "/=") {
		return 0, 0, false
	}
	return from + at + 1, to, true
}

// command is what is known of the command line that is being read.
type command struct {
	program program
	login   bool // its sub-command logs in
	setting bool // what follows is NAME VALUE
}

// word takes a word that is no option, without its folder, and says what the
// next one is.
func (c *command) word(word string) option {
	if p := programOf(word); p != none {
		*c = command{program: p}
		if p == oracle {
			return option{how: behindSlash, name: word}
		}
		return option{}
	}
	switch word {
	case "login":
		c.login = c.program == container
		if c.program == wandb {
			return option{how: ifOdd, name: word}
		}
	case "set", "config", "configure":
		c.setting = c.program == settings
	}
	return option{}
}

// option says what follows an option.
func (c *command) option(name string) option {
	if len(name) == 2 && name[0] == '-' {
		return c.letter(name)
	}
	switch name {
	case "--user", "--proxy-user", "--cert", "--proxy-cert":
		if c.program != container {
			return option{how: behindColon, name: name}
		}
		return option{}
	}
	if g := gradeOf(name); g != plain {
		return option{how: all, grade: g, name: name}
	}
	return option{}
}

// letter says what follows an option of one letter.
func (c *command) letter(name string) option {
	secrets := ""
	switch c.program {
	case sshpass, mongo:
		secrets = "p"
	case redis:
		secrets = "a"
	case ldap:
		secrets = "wy"
	case sql, zip, ipmi:
		secrets = "P"
	case openssl:
		secrets = "kK"
	case curl:
		secrets = "b"
	case container:
		if c.login {
			secrets = "p"
		}
	}
	switch letter := name[1]; {
	case strings.IndexByte(secrets, letter) >= 0:
		return option{how: all, grade: strong, name: name}
	case letter == 'U' && c.program == samba:
		return option{how: behindPercent, name: name}
	case c.program == container:
	case letter == 'u', letter == 'U', letter == 'a' && c.program == curl, letter == 'E' && c.program == curl:
		return option{how: behindColon, name: name}
	}
	return option{}
}

// glued is where the password begins in a word that is an option and its
// password, or 0.
func (c *command) glued(word string) (at int, name string) {
	if len(word) < 3 || word[0] != '-' || word[1] == '-' {
		return 0, ""
	}
	letters := ""
	switch c.program {
	case mysql, sshpass, archive, mongo:
		letters = "p"
	case sql, ipmi:
		letters = "P"
	case redis:
		letters = "a"
	case ldap:
		letters = "w"
	case curl:
		if word[1] == 'u' || word[1] == 'U' {
			if f, _, ok := behind(word, 2, len(word), ':'); ok {
				return f, word[:2]
			}
		}
		return 0, ""
	case samba:
		if word[1] == 'U' {
			if f, _, ok := behind(word, 2, len(word), '%'); ok {
				return f, word[:2]
			}
		}
		return 0, ""
	}
	if strings.IndexByte(letters, word[1]) < 0 || strings.HasPrefix(word, "-password") ||
		strings.HasPrefix(word, "-pass") && c.program == mongo {
		return 0, ""
	}
	return 2, word[:2]
}

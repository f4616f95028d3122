package secret

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// planted are texts with a secret in them, which is written S3CRET… or has a
// form of its own, and what must be left of each.
var planted = []struct{ in, want string }{
	{"--token=S3", "--token=***"},
	{"--token S3", "--token ***"},
	{"--password S3 file", "--password *** file"},
	{"--password 'a b c' file", "--password '***' file"},
	{"--api-key=S3", "--api-key=***"},
	{"--apiKey S3", "--apiKey ***"},
	{"-password S3", "-password ***"},
	{"-Dapi.key=S3", "-Dapi.key=***"},
	{"-Ddb.password=S3 -jar x.jar", "-Ddb.password=*** -jar x.jar"},
	{"PGPASSWORD=S3 psql -h db", "PGPASSWORD=*** psql -h db"},
	{`sh -c "PGPASSWORD=S3 psql -h db"`, `sh -c "PGPASSWORD=*** psql -h db"`},
	{"export AWS_SECRET_ACCESS_KEY='S3/x+y'; run", "export AWS_SECRET_ACCESS_KEY='***'; run"},
	{`{"password": "S3", "user": "bob"}`, `{"password": "***", "user": "bob"}`},
	{`{'api_key': 'S3'}`, `{'api_key': '***'}`},
	{`{\"password\": \"S3\"}`, `{\"password\": \"***\"}`},
	{`{"api_keys": ["S1", "S2"]}`, `{"api_keys": [***]}`},
	{`os.environ["HF_TOKEN"] = "S3"`, `os.environ["HF_TOKEN"] = "***"`},
	{"aws_secret_access_key = S3x", "aws_secret_access_key = ***"},
	{"Authorization: Bearer S3x4", "Authorization: Bearer ***"},
	{`curl -H "Authorization: Bearer S3" https://h/`, `curl -H "Authorization: Bearer ***" https://h/`},
	{`curl -H 'X-Api-Key: S3' https://h/`, `curl -H 'X-Api-Key: ***' https://h/`},
	{`curl -H 'Cookie: a=S3; b=S4' https://h/`, `curl -H 'Cookie: ***' https://h/`},
	{"curl -u bob:S3 https://h/", "curl -u bob:*** https://h/"},
	{"curl -ubob:S3 https://h/", "curl -ubob:*** https://h/"},
	{"curl --user bob:S3 https://h/", "curl --user bob:*** https://h/"},
	{"tool -u bob:S3", "tool -u bob:***"},
	{"mysql -uroot -pS3 db", "mysql -uroot -p*** db"},
	{"/usr/bin/mysqldump -pS3", "/usr/bin/mysqldump -p***"},
	{"sshpass -p S3 ssh h", "sshpass -p *** ssh h"},
	{"sshpass -pS3 ssh h", "sshpass -p*** ssh h"},
	{"redis-cli -a S3 ping", "redis-cli -a *** ping"},
	{"docker login -u bob -p S3 registry", "docker login -u bob -p *** registry"},
	{"ldapsearch -w S3 -x", "ldapsearch -w *** -x"},
	{"smbclient //h/s -U bob%S3", "smbclient //h/s -U bob%***"},
	{"sqlplus scott/S3@db", "sqlplus scott/***@db"},
	{"npm config set //r/:_authToken S3", "npm config set //r/:_authToken ***"},
	{"aws configure set aws_secret_access_key S3", "aws configure set aws_secret_access_key ***"},
	{"wandb login 0123456789abcdef0123456789abcdef01234567", "wandb login ***"},
	{"https://bob:S3@h/x", "https://bob:***@h/x"},
	{"postgres://bob:S3@h:5432/db?sslmode=on", "postgres://bob:***@h:5432/db?sslmode=on"},
	{"redis://:S3@h", "redis://:***@h"},
	{"https://bob:a/S3#x@h/y", "https://bob:***@h/y"},
	{"https://0a1b2c3d4e5f60718293a4b5c6d7e8f9@sentry.io/1", "https://***@sentry.io/1"},
	{"bob:S3@db.example.org:3306", "bob:***@db.example.org:3306"},
	{"https://h/?token=S3&page=2", "https://h/?token=***&page=2"},
	{"https://h/?page=2&X-Amz-Signature=S3abc", "https://h/?page=2&X-Amz-Signature=***"},
	{"https://b/x?sv=2020&sig=S3%2Fabc%3D&se=1", "https://b/x?sv=2020&sig=***&se=1"},
	{"Server=h;User Id=sa;Password=S3;Encrypt=yes", "Server=h;User Id=sa;Password=***;Encrypt=yes"},
	{"AccountName=x;AccountKey=S3abc==;EndpointSuffix=y", "AccountName=x;AccountKey=***;EndpointSuffix=y"},
	{"host=h password=S3 dbname=x", "host=h password=*** dbname=x"},
	{"pw=9081726354", "pw=***"},
	{"/srv/password=S3/x.py:4 f", "/srv/password=*** f"},
	{"/srv/session=S3/x.py", "/srv/session=***"},
	{"password: S3", "password: ***"},
	{"the token: a1b2c3d4 was refused", "the token: *** was refused"},
	{"key AKIAIOSFODNN7EXAMPLE here", "key *** here"},
	{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "***"},
	{"x=github_pat_11ABCDEFG0abcdefghijkl_x", "x=***"},
	{"glpat-abcdefghij0123456789", "***"},
	{"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "***"},
	{"sk-abcdefghijklmnopqrst1234", "***"},
	{"sk-proj-abcdefghij_klmnop-qr", "***"},
	{"sk-ant-api03-abcdefghijklmnop", "***"},
	{"xoxb-123456789012-abcdefghijkl", "***"},
	{"AIzaSyA1234567890abcdefghijklmnopqrstuv", "***"},
	{"ya29.a0AfH6SMBabcdefghijkl", "***"},
	{"npm_abcdefghijklmnopqrstuvwxyz0123456789", "***"},
	{"pypi-AgEIcHlwaS5vcmcCJDAwMDAwMDAwMDA", "***"},
	{"SG.abcdefghijklmnop12.abcdefghijklmnopqrstuvwxyz", "***"},
	{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def_ghi", "***"},
	{"dop_v1_0123456789abcdef0123456789abcdef", "***"},
	{"shpat_0123456789abcdef0123456789abcdef", "***"},
	{"rk_live_0123456789abcdef", "***"},
	{"sk_live_0123456789abcdef", "***"},
	{"nvapi-abcdefghijklmnopqrstuvwxyz", "***"},
	{"https://hooks.slack.com/services/T0/B0/S3", "https://hooks.slack.com/services/***"},
	{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----",
		"-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"},
	{"-----BEGIN OPENSSH PRIVATE KEY-----\nMIIE", "-----BEGIN OPENSSH PRIVATE KEY-----***"},
	{"--max-tokens=sk-abcdefghijklmnopqrst1234", "--max-tokens=***"},
	{"env -i DB_PASS=S3 SALT=S4 run", "env -i DB_PASS=*** SALT=*** run"},
	{"openssl enc -pass pass:S3 -in x", "openssl enc -pass *** -in x"},
	{"keytool -storepass S3 -alias x", "keytool -storepass *** -alias x"},
	{"gpg --batch --passphrase S3 x.gpg", "gpg --batch --passphrase *** x.gpg"},
	{"wget --password=S3 --user=bob u", "wget --password=*** --user=bob u"},
	{"zip -P S3 x.zip y", "zip -P *** x.zip y"},
	{"7z x -pS3 y.7z", "7z x -p*** y.7z"},
	{"mongosh -u bob -p S3", "mongosh -u bob -p ***"},
	{"sshpass -e; mysql -pS3", "sshpass -e; mysql -p***"},
	{"python -c 'token = \"S3\"; run(token)'", "python -c 'token = \"***\"; run(token)'"},
	{"login(password=b'S3')", "login(password=b'***')"},
	{"https://x-access-token:ghs_abcdefghijklmnopqrst@github.com/a/b",
		"https://x-access-token:***@github.com/a/b"},
	{"git clone https://ghp_abcdefghijklmnopqrst@github.com/a", "git clone https://***@github.com/a"},
}

// harmless are texts in which nothing is to be masked.
var harmlessTexts = []string{
	"--max-tokens 512", "--max-new-tokens 128", "--max_tokens=4096", "--num_tokens 2048",
	"--num-tokens=100000",
	"--token-budget 8192",
	"TOKENIZERS_PARALLELISM=false", "--tokenizer gpt2", "--tokenizer-path /data/tok.json",
	"--tokens-per-step 65536", "--passes 3", "--passes=12",
	"--pass 2", "--sort-key name", "--sort-key=name", "--group-key user_id", "--partition-key=day",
	"--cache-key step", "--keep 5", "--keep-going",
	"KEYBOARD=us", "MONKEY=banana", "--monkey see", "AUTHOR=Alice", "--author 'Bob B'", "--key-dim 64",
	"--key_size=128", "--num-keys 16",
	"--eos-token </s>", "--pad-token-id 50256", "--bos_token_id=1", "--mask-token <mask>",
	"--stop-tokens a,b",
	"--special-tokens x",
	"--image-token-id 32000", "--license MIT", "license=Apache-2.0", "--auth basic", "--auth-type=oauth2",
	"--no-auth",
	"--password-file /run/secrets/db", "--token-file=/run/t", "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1",
	"XDG_SESSION_TYPE=tty", "XDG_SESSION_ID=3",
	"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/0/bus", "DESKTOP_SESSION=gnome",
	"XAUTHORITY=/home/a/.Xauthority", "PWD=/home/a/work",
	"OLDPWD=/tmp", "--ssl-key /etc/ssl/server.key", "--key server.pem", "--session-timeout 30",
	"--use-auth-token", "--use-auth-token --fp16",
	"--compass north", "--bypass=1", "--passthrough on", "--low-pass 0.5", "--forward-pass 3",
	"--trust-remote-code", "tokenizers==0.15.1",
	"keyring==24.3", "train.py:41 Session.run", "session.py:41:7 run", "key.cu:9 k",
	"auth/token.go:12 main.Token", "std::key::find(int)",
	"/home/a/keys/token/x.py:3 f", "__main__.tokens[…]", "model.session.cache[0]", "self.key",
	"sorted(x, key=len)", "d = sorted(d, key=lambda t: t[1])",
	"image:tag@sha256:0123456789abcdef", "git@github.com:org/repo.git", "bob@example.org",
	"mailto:bob@example.org", "rsync a@h:/srv/x .",
	"docker run -u 1000:1000 -p 8080:80 image", "http://localhost:8080/path/@scope/pkg",
	"https://example.org:443/a?page=2&sort=key",
	"cuda:0 NVIDIA H200", "pass@1=0.52", "12:30:05@home", "0x7f12abcd",
	"libnvidia-ml.so.580.159.04", "sk-learn",
	"task-abcdefghijklmnopqrst123",
	"commit 0123456789abcdef0123456789abcdef01234567",
	"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"uuid 123e4567-e89b-12d3-a456-426614174000", "no key: the map is empty", "session: connection refused",
	"mysql -uroot -p db", "ls -p", "tar -pxf x",
	"python3 -u train.py --epochs 3", "--foo a:b", "ps -p 4242", "kill -p 1", "-p8080", "--lr 1e-4",
	"--private",
	"--private=true",
	"--per-token-loss 1.5", "--token 7", "--key 1024px"[:8], "samples.csv:3: key_count: bad cell",
	"process 7 (train): tokens 5120",
	"LICENSE_FILE=/opt/l.lic", "--cookie-jar /tmp/jar", "--jwt-algorithm RS256", "SECRETARY=Ann",
	"--secretary=Ann", "*** ***", "--token=***",
	"AuthorizedKeysFile /etc/ssh/keys", "ASIAPACIFICREGIONS",
	"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
	"python -m torch.distributed.run --nproc-per-node 8 train.py", "C:\\Users\\a\\x.exe -u C:\\y", "a=b&c=d",
	"the password", "Bearer of news", "not a key=value pair",
}

func TestWhatLooksLikeASecretIsMasked(t *testing.T) {
	t.Parallel()
	for _, c := range planted {
		if got := Text(c.in); got != c.want {
			t.Errorf("Text(%q)\n = %q\nwant %q", c.in, got, c.want)
		}
		if got := Text(c.want); got != c.want {
			t.Errorf("masked once more %q becomes %q", c.want, got)
		}
	}
}

func TestHarmlessTextsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, s := range harmlessTexts {
		if got := Text(s); got != s {
			t.Errorf("Text(%q) = %q", s, got)
		}
		if args := strings.Fields(s); strings.IndexByte(s, '\'') < 0 {
			if got := Args(args); !slices.Equal(got, args) {
				t.Errorf("Args(%q) = %q", args, got)
			}
		}
	}
}

func TestArgumentsAreMaskedToTheirEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want []string }{
		{[]string{"a", "--password", "two words; and more", "x"}, []string{"a", "--password", "***", "x"}},
		{[]string{"a", "--password=two words; and more", "x"}, []string{"a", "--password=***", "x"}},
		{[]string{"curl", "-H", "Authorization: Bearer two words", "u"}, []string{"curl", "-H",
			"Authorization: Bearer ***", "u"}},
		{[]string{"curl", "-u", "bob:two words", "u"}, []string{"curl", "-u", "bob:***", "u"}},
		{[]string{"/bin/mysql", "-ptwo words", "db"}, []string{"/bin/mysql", "-p***", "db"}},
		{[]string{"sudo", "sshpass", "-p", "two words", "ssh"},
			[]string{"sudo", "sshpass", "-p", "***", "ssh"}},
		{[]string{"sh", "-c", "TOKEN=S3 run --password 'S 4'"}, []string{"sh", "-c",
			"TOKEN=*** run --password '***'"}},
		{[]string{"TOKEN=two words"}, []string{"TOKEN=***"}},
		{[]string{"worker --token=S3 of 4"}, []string{"worker --token=*** of 4"}},
		{[]string{"a", "--token", "--fp16", "x"}, []string{"a", "--token", "--fp16", "x"}},
		{[]string{"a", "--password", ""}, []string{"a", "--password", ""}},
	} {
		before := slices.Clone(c.in)
		if got := Args(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Args(%q)\n = %q\nwant %q", c.in, got, c.want)
		}
		if !slices.Equal(before, c.in) {
			t.Errorf("%q was changed", before)
		}
		if got := Args(c.want); !slices.Equal(got, c.want) {
			t.Errorf("masked once more %q becomes %q", c.want, got)
		}
	}
}

func TestVariablesAreMaskedByTheirNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"CUDA_PASS", "NVIDIA_APIKEY", "TORCH_AUTH", "JAX_PRIVATE_KEY", "VK_DB_PWD",
		"GPUMEM_KEY", "TL_SESSION", "X_COOKIE", "X_CRED", "X_DSN",
		"X_BEARER", "X_JWT", "X_SALT", "X_SIGNATURE", "X_LICENSE", "PGPASSWORD", "MYSQL_PWD", "REDISCLI_AUTH",
		"HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "WANDB_API_KEY",
		"SSHPASS", "apiKey", "dbPassword", "PASSWORD1", "TOKEN_2", "X_PASSPHRASE", "OPENAI_API_KEY",
		"accessToken",
		"NPM_AUTHTOKEN", "CUDA_KEY9"} {
		if got := new(Tally).Named(name, "S3"); got != Mask {
			t.Errorf("Named(%q) = %q", name, got)
		}
	}
	for name, value := range map[string]string{"PWD": "/home/a", "OLDPWD": "/", "TORCH_KEYED": "x",
		"CUDA_CACHE_PATH": "/a", "JAX_TOKENIZER": "x", "NVIDIA_MONKEY": "x",
		"XLA_AUTHOR": "x", "MAX_TOKENS": "100000", "TORCH_KEY_CACHE_SIZE": "77777", "TORCH_SESSION": "true",
		"OMP_PASSES": "20000", "TL_KEYBOARD": "us"} {
		if got := new(Tally).Named(name, value); got != value {
			t.Errorf("Named(%q, %q) = %q", name, value, got)
		}
	}
	if got := new(Tally).Named("TORCH_URL", "https://u:S8@h/"); got != "https://u:***@h/" {
		t.Errorf("%q", got)
	}
}

func TestJSONStaysJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{`{"n":9007199254740993,"text":"a"}`, `{"n":9007199254740993,"text":"a"}`},
		{`{"password":12345678,"n":9007199254740993}`, `{"n":9007199254740993,"password":"***"}`},
		{`{"credentials":{"user":"bob","x":["S3"]}}`, `{"credentials":{"user":"***","x":["***"]}}`},
		{`{"\u0070assword":"S3"}`, `{"password":"***"}`},
		{`["--token","x","curl -u bob:S3"]`, `["--token","x","curl -u bob:***"]`},
		{`{"cmd":"PGPASSWORD=S3\nls"}`, `{"cmd":"PGPASSWORD=***\nls"}`},
		{`{"password":"S3"`, `{"password":"***"`},
		{`{"a":"\u00e9"}`, `{"a":"\u00e9"}`},
		{``, ``},
	} {
		if got := string(new(Tally).JSON([]byte(c.in))); got != c.want {
			t.Errorf("JSON(%s)\n = %s\nwant %s", c.in, got, c.want)
		}
	}
}

// TestALongTextOfNamesTakesNoLongerThanItsLength is about seconds or hours.
func TestALongTextOfNamesTakesNoLongerThanItsLength(t *testing.T) {
	t.Parallel()
	began := time.Now()
	for _, part := range []string{"key_name=", "a://b:c/", "token: ", "x='", "password=[", "-u a:",
		"max_tokens=\"", "a:b@", "-----BEGIN ", "{\"key\":"} {
		Text(strings.Repeat(part, 1<<18/len(part)))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%v for 2.5 MiB", took)
	}
}

func TestNamesOfWhatWasMaskedAreKept(t *testing.T) {
	t.Parallel()
	var tally Tally
	tally.Args([]string{"curl", "--token=S1", "--token", "S2", "https://u:S3@h/?sig=S4abcdef"})
	tally.Named("CUDA_PASS", "S5")
	tally.Text("ghp_abcdefghijklmnopqrst")
	want := []string{"--token", "password in a URL", "sig", "CUDA_PASS", "GitHub token"}
	if tally.Values() != 6 || !slices.Equal(tally.Names(), want) {
		t.Errorf("%d values, %q", tally.Values(), tally.Names())
	}
}

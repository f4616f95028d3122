package children

// terminals are programs on a terminal: jobs, keys and hang-ups.
func terminals() []kind {
	return []kind{
		{
			name: "a terminal's shell", argv: []string{"bash", "--norc", "-i"},
			env:   []string{"PS1=ready> "},
			rules: []rule{without("what readline draws", `^terminal: .*ready> `)},
			keys:  []key{{"ready> ", "echo a$((1+1))\n"}, {"a2", ""}, {"ready> ", "exit 5\n"}},
		},
		{
			name: "job control on a terminal", argv: []string{"bash", "--norc", "-i"},
			env:   []string{"PS1=ready> "},
			rules: []rule{without("what readline draws", `^terminal: .*ready> `), pids},
			keys: []key{
				// The shell shows what was typed before it gives the terminal back its
				// echo: what says that the job runs is the job's own word.
				{"ready> ", "sh -c 'echo $((40+2)); exec cat'\n"}, {"42\r\n", "one\n"}, {"one\r\none\r\n", "\x1a"},
				{"ready> ", "jobs\n"}, {"ready> ", "fg\n"}, {"exec cat'\r\n", "two\n"},
				{"two\r\ntwo\r\n", "\x03"}, {"ready> ", "echo $?\n"}, {"130", ""}, {"ready> ", "exit\n"},
			},
		},
		{
			name: "an interrupt by the keyboard",
			argv: []string{
				"sh", "-c",
				"trap 'echo interrupted; exit 4' INT; echo begun; while :; do sleep .05; done",
			},
			keys: []key{{"begun\r\n", "\x03"}},
		},
		{
			name: "an interrupt by the keyboard that ends",
			argv: []string{"sh", "-c", "echo begun; exec sleep 30"}, keys: []key{{"begun\r\n", "\x03"}},
		},
		{
			name: "quit by the keyboard",
			argv: []string{"sh", "-c", "ulimit -c 0; echo begun; exec sleep 30"},
			keys: []key{{"begun\r\n", "\x1c"}},
		},
		{
			name: "python that is interrupted by the keyboard",
			argv: []string{"python3", "-c", "import time; print('begun', flush=True); time.sleep(30)"},
			keys: []key{{"begun\r\n", "\x03"}},
		},
		{
			name: "the end of input by the keyboard", argv: []string{"cat"},
			keys: []key{{"", "text\n"}, {"text\r\ntext\r\n", "\x04"}},
		},
		{
			name: "a size of the terminal",
			argv: []string{"sh", "-c", "stty size; stty -a | head -3; tty"}, keys: []key{},
			rules: []rule{whichTerminal},
		},
		{
			name: "a terminal that is set otherwise",
			argv: []string{"sh", "-c", "stty -echo -icanon; stty -a; stty sane; echo done"},
			keys: []key{},
		},
		{
			name: "a password that is asked for",
			argv: []string{"python3", "-c", "import getpass; print(len(getpass.getpass('word: ')))"},
			keys: []key{{"word: ", "secret\n"}},
		},
		{
			name:  "a stop by the keyboard around gpumem",
			outer: `set -m; run cat; echo stopped $?; fg; echo $?`,
			keys: []key{
				{"", "one\n"}, {"one\r\none\r\n", "\x1a"}, {"stopped", ""}, {"cat", "two\n"},
				{"two\r\ntwo\r\n", "\x04"},
			},
			rules: []rule{replace("process identifiers", `line 1: +[0-9]+`, "line 1: PID")},
		},
		{
			name: "gpumem in the background, then in the foreground",
			outer: `set -m; run cat & until [ -n "$(jobs -s)" ]; do sleep .05; done; ` +
				`echo stopped; fg >/dev/null; echo $?`,
			keys:  []key{{"stopped\r\n", "text\n"}, {"text\r\n", ""}, {"text\r\n", "\x04"}},
			rules: []rule{pids, without("when the shell tells of a stop", `^terminal: (\[1\].*Stopped.*)?$`)},
		},
		{
			name:  "gpumem in the background of a terminal",
			outer: `set -m; run sh -c 'echo out; look ids' & wait $!; echo $?`, keys: []key{},
			rules: []rule{groups},
		},
		{
			name: "a terminal that hangs up",
			argv: []string{
				"sh", "-c",
				"trap 'echo hung up >../cwd/hup; exit 5' HUP; echo begun; while :; do sleep .05; done",
			},
			keys: []key{{"begun\r\n", hangUp}},
		},
		{
			name: "a terminal within a terminal",
			argv: []string{"script", "-qec", "tty -s && echo terminal; exit 4", "/dev/null"},
			keys: []key{},
		},
	}
}

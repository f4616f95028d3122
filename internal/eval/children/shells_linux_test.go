package children

import "fmt"

// shells are what shells and the small tools beside them do.
func shells() []kind {
	all := []kind{
		{name: "sh with a pipe", sh: `echo one two | tr a-z A-Z | cat -n`},
		{
			name: "sh with a here-document",
			sh: `cat <<END
home is $HOME
END`,
		},
		{name: "bash with process substitution", bash: `diff <(echo a) <(echo b); echo $?`},
		{
			name: "bash with a coprocess",
			bash: `coproc cat; echo through >&${COPROC[1]}; read -u ${COPROC[0]} x; echo "$x"`,
		},
		{
			name: "bash with pipefail",
			bash: `set -o pipefail; false | true; echo ${PIPESTATUS[@]} $?; yes | head -1; echo ${PIPESTATUS[@]}`,
		},
		{
			name: "dash as a shell",
			argv: []string{"dash", "-c", `echo $0 $# "$@"; exit 8`, "name", "a b", ""},
		},
		{name: "bash as a login shell", argv: []string{"bash", "-l", "-c", "shopt login_shell; umask"}},
		{name: "bash in POSIX mode", argv: []string{"bash", "--posix", "-c", "set -o | grep posix"}},
		{
			name: "a shell that reads its script", argv: []string{"sh"},
			stdin: "echo from stdin\nread line\nexit 6\n",
		},
		{name: "sh -x", argv: []string{"sh", "-xc", "a=1; echo $a"}},
		{
			name: "sh -u with a variable that is not set",
			argv: []string{"sh", "-uc", "echo $GONE; echo not reached"},
		},
		{
			name: "a command that is not there",
			argv: []string{"sh", "-c", "no_such_command_here; echo $?"},
		},
		{
			name: "sh with traps",
			sh:   `trap 'echo bye' EXIT; trap 'echo usr1' USR1; kill -USR1 $$; echo here; exit 4`,
		},
		{
			name: "traps of all signals",
			bash: `for s in $(seq 1 31); do trap "echo $s" $s 2>/dev/null; done; kill -15 $$; kill -1 $$
kill -2 $$; trap`,
		},
		{
			name: "a script with an interpreter line", argv: []string{"./lined", "x"},
			files: map[string]string{"lined!": "#!/bin/sh -e\necho $0 $1; false; echo not reached\n"},
		},
		{
			name: "a script without an interpreter line", argv: []string{"./plain"},
			files: map[string]string{"plain!": "echo plain; exit 9\n"},
		},
		{
			name: "a script whose interpreter is a script", argv: []string{"./outer"},
			files: map[string]string{"outer!": "#!./inner\n", "inner!": "#!/bin/sh\necho inner $1\n"},
		},
		{
			name: "a script whose interpreter is not there", argv: []string{"./lost"},
			files: map[string]string{"lost!": "#!/no/such/shell\n"}, differs: []difference{startFailed},
		},
		{
			name: "a file that may not be executed", argv: []string{"./data"},
			files: map[string]string{"data": "text\n"}, differs: []difference{startFailed},
		},
		{name: "a folder as a command", argv: []string{"./"}, differs: []difference{startFailed}},
		{
			name: "a command that is nowhere", argv: []string{"no_such_command_here"},
			differs: []difference{startFailed},
		},
		{
			name: "an empty file as a program", argv: []string{"./empty"},
			files: map[string]string{"empty!": ""},
		},
		{
			name: "a command of the working directory by its path", argv: []string{"./hi"},
			files: map[string]string{"hi!": "#!/bin/sh\necho hi $0\n"},
		},
		{
			name: "a command from a relative entry of PATH", sh: `PATH=.:$PATH; hi`,
			files: map[string]string{"hi!": "#!/bin/sh\necho hi $0\n"},
		},
		{name: "a background job that is left", sh: `(sleep .3; echo late) & echo first`},
		{
			name: "a background job that is waited for",
			sh:   `sleep .1 & wait $!; echo $?; (exit 3) & wait $!; echo $?`,
		},
		{
			name: "a job that outlives gpumem",
			sh:   `(while [ ! -e ../status ]; do sleep .02; done; ls -d /; echo written after the end) & echo first`,
		},
		{
			name: "jobs in groups of their own",
			bash: `set -m; sleep 5 & kill -TERM -$!; wait $!; echo $?`,
		},
		{
			name: "a stopped job that goes on",
			// The shell hears of the stop before the job goes on: had it both signals at once, bash alone
			// would tell 147 once in some thousand runs and 0 in the others.
			bash: `set -m; (until [ -e go ]; do sleep .01; done; echo on) & kill -STOP $!; wait $!; echo $?
bg; echo $?; : >go; wait $!; echo $?`,
		},
		{
			name: "a signal to the own group", bash: `trap 'echo got it' USR1; kill -USR1 0; echo on`,
			job: true,
		},
		{name: "exec of another program", sh: `exec look args; echo not reached`},
		{name: "exec under another name", bash: `exec -a another look args`},
		{name: "exec of a login shell's name", bash: `exec -l bash -c 'echo $0'`},
		{
			name: "exec with redirections",
			sh:   `exec 3>three; echo out >&3; exec 3>&-; cat three; look fds`,
		},
		{name: "a descriptor of one's own for a child", sh: `look fds 7</dev/null 9>file; :`},
		{name: "nohup", sh: `nohup sh -c 'trap; echo here; kill -HUP $$; echo on' 2>&1`},
		{name: "setsid", argv: []string{"setsid", "-w", "look", "ids"}},
		{
			name: "setsid that does not wait", argv: []string{"setsid", "sh", "-c", "sleep .1; exit 3"},
			differs: []difference{setsidForks},
		},
		{name: "setsid of a job", argv: []string{"setsid", "sh", "-c", "sleep .1; exit 3"}, job: true},
		{name: "setsid below a shell", sh: `setsid sh -c 'look ids; exit 3'; echo $?`},
		{name: "nice", argv: []string{"nice", "-n", "7", "look", "sched"}},
		{
			name: "ionice and chrt",
			sh:   `ionice -c 3 look sched; chrt -b 0 look sched; chrt -i 0 look sched`,
		},
		{name: "timeout that comes", argv: []string{"timeout", ".2", "sleep", "20"}},
		{name: "timeout that does not come", argv: []string{"timeout", "20", "sh", "-c", "exit 3"}},
		{name: "timeout that kills", sh: `timeout -s KILL .2 sh -c 'trap "" TERM; sleep 20'; echo $?`},
		{name: "timeout in the foreground", sh: `timeout --foreground .2 sleep 20; echo $?`},
		{name: "env -i", argv: []string{"env", "-i", "look", "env"}, env: []string{"LD_LIBRARY_PATH="}},
		{name: "env -u and new variables", sh: `env -u HOME A=1 B="2 3" sh -c 'echo "$HOME|$A|$B"'`},
		{
			name: "env of an interpreter line", argv: []string{"./split"},
			files: map[string]string{"split!": "#!/usr/bin/env -S sh -u\necho split\n"},
		},
		{
			name: "xargs in parallel", sh: `seq 40 | xargs -P 8 -n 1 sh -c 'echo $0'`,
			rules: []rule{anyOrder},
		},
		{
			name: "xargs whose command fails",
			sh:   `echo 1 2 | xargs -n 1 false; echo $?; echo 1 | xargs sh -c 'exit 255'; echo $?`,
		},
		{
			name: "find -exec", sh: `find . -name '*.txt' -exec cat {} + -exec echo {} \;`,
			files: map[string]string{"a.txt": "a\n"},
		},
		{name: "tee", sh: `echo both | tee one two; cat one two`},
		{
			name: "cat of its input", argv: []string{"cat"}, stdin: "one\ntwo\n",
		},
		{
			name: "a large input", argv: []string{"sh", "-c", "wc -c; wc -c"},
			stdin: string(make([]byte, 1<<20)),
		},
		{
			name: "a large output",
			sh:   `head -c 1000000 /dev/zero | tr '\0' x | md5sum; seq 100000 | md5sum; seq 20000`,
		},
		{name: "an input that is not read", argv: []string{"true"}, stdin: string(make([]byte, 1<<18))},
		{
			name: "binary output", sh: `printf '\0\377\200abc\r\n'`,
		},
		{name: "output without a newline", sh: `printf out; printf err >&2`},
		{name: "a closed input", sh: `cat <&-; echo $?`},
		{name: "a closed output", sh: `echo lost >&-; echo $? >&2; ls -d / >&-; echo $? >&2`},
		{name: "a closed stderr", sh: `ls /no/such 2>&-; echo $?; look fds 2>&-`},
		{
			name: "all three closed",
			sh: `look fds 0<&- 1>&- 2>&-; sh -c 'exec 3>file; ls -l /proc/self/fd >/dev/null' 0<&- 1>&- 2>&-
echo $?`,
		},
		{
			name: "/dev/full as output",
			sh:   `echo x >/dev/full; echo $?; cat /etc/hostname >/dev/full; echo $?`,
		},
		{name: "SIGPIPE", bash: `acts flood | head -c 10; echo; echo ${PIPESTATUS[@]}`},
		{
			name: "SIGPIPE that is ignored",
			bash: `trap '' PIPE; acts flood | head -c 10; echo; echo ${PIPESTATUS[@]}`,
		},
		{
			name: "a lock between processes",
			sh:   `flock lock sh -c 'echo held; flock -n lock echo never; echo $?'`,
		},
		{name: "a FIFO", sh: `mkfifo f; (echo through >f) & cat f; rm f`},
		{
			name: "umask",
			sh:   `umask 077; : >private; umask; mkdir folder; umask 0; : >open; ls -l | cut -c1-10`,
		},
		{
			name: "a shell whose working directory is gone",
			sh:   `mkdir gone; cd gone; rmdir ../gone; ls; /bin/pwd; echo $?`,
		},
		{
			name: "the command line of awk",
			sh:   `echo 1 2 | awk '{print $1+$2; system("exit 3"); print ENVIRON["USER"]; exit 4}'`,
		},
		{
			name: "sed, sort, uniq and comm", sh: `printf 'b\na\nb\n' | sort | uniq -c | sed s/b/B/`,
		},
		{
			name: "perl",
			argv: []string{
				"perl", "-we",
				`use strict; $SIG{ALRM}=sub{print "alarm\n"}; alarm 1;
select(undef,undef,undef,5); print join(",",sort grep {!/GPUMEM|LD_|PYTHON|ASAN/} keys %ENV),"\n";
system("exit 3"); print $?>>8,"\n"; die "end\n"`,
			},
		},
		{
			name: "perl that forks",
			argv: []string{
				"perl", "-e",
				`$|=1; for (1..5) { if (!fork) { exit $_ } wait; print $?>>8, "\n" } exec "echo", "done"`,
			},
		},
		{
			name: "tar through a pipe",
			sh: `mkdir d; echo x >d/f; tar cf - d | tar tf -; tar czf d.tgz d && tar xzf d.tgz -O d/f
rm -r d d.tgz`,
		},
		{
			name: "make -j", argv: []string{"make", "-s", "-j4", "all"}, rules: []rule{anyOrder},
			files: map[string]string{"Makefile": "all: a b c d\na b c d:\n\t@echo $@; sh -c 'exit 0'\n"},
		},
		{
			name: "make that fails", argv: []string{"make", "x"},
			files: map[string]string{"Makefile": "x:\n\t@echo $(MAKELEVEL)\n\tfalse\n"},
		},
		{
			name: "make below make", argv: []string{"make", "-j2"},
			rules: []rule{replace("who begins", `(Entering|Leaving) directory`, "directory")},
			files: map[string]string{
				"Makefile": "all:\n\t+$(MAKE) -s other\nother:\n\techo $(MAKELEVEL)\n",
			},
		},
		{
			name:  "script on a pipe",
			sh:    `script -qec 'tty >/dev/null && echo a terminal; exit 4' /dev/null </dev/null; echo $?`,
			rules: []rule{replace("a terminal's newlines", "\r", "")},
		},
		{name: "ps sees its relatives", sh: `ps -o comm= --ppid $$; ps -o stat= -p $$ | cut -c1 | tr R S`},
		{name: "the time of children", bash: `TIMEFORMAT=%0R; time true; times | wc -l`},
	}
	for _, code := range []int{0, 1, 2, 3, 42, 125, 126, 127, 128, 129, 137, 200, 254, 255} {
		all = append(all, kind{name: fmt.Sprintf("exit code %d", code), sh: fmt.Sprintf("exit %d", code)})
	}
	return all
}

var startFailed = differs("it is gpumem who says that a program cannot be started", `^[-+]stderr: `)

var setsidForks = differs("setsid forks where it leads its group already, and does not wait: see ownGroup",
	`^[-+](end: exit|stdout: session of its parent)`)

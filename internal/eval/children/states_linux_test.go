package children

// preloaded is what everybody sees in the environment: that is how gpumem gets
// into a program.
var preloaded = differs("the interposer and the agent get into a program by its environment",
	`^[-+](stdout|terminal): (environment )?(LD_PRELOAD|GPUMEM_[A-Z_]+|PYTHONPATH|ASAN_OPTIONS)=`)

// interposer is what programs see of it in their memory.
var interposer = differs("the interposer is a library of the program, and keeps a ring",
	`^\+stdout: mapped (/(dev/shm|tmp|var/tmp)/gpumem-|\S+/libdl.so.2)`)

// ownGroup is what tells a program that was started without a terminal.
var ownGroup = differs("without a terminal gpumem gives the program a process group, to end all of it",
	`^[-+]stdout: (group leader|group of its parent)`)

// sharedGroup is the same with a terminal.
var sharedGroup = differs("on a terminal the job is gpumem's, and the program belongs to it",
	`^[-+]terminal: (group leader|group of its parent)`)

// opened is what Go's runtime does before any code of gpumem runs.
var opened = differs("a standard descriptor that is closed when gpumem starts is the null device for both: Go's "+
	"runtime opens it",
	`^[-+](stdout: (fd [0-2]: /dev/null|1$)|stdout: [01]$|file cwd/file: fd [0-2]: /dev/null|cwd/file: fd|stderr: )`)

// dispositions is what Go's runtime keeps to itself.
var dispositions = differs("Go's runtime handles signals that gpumem was started to ignore, and unblocks those that "+
	"it needs", `^[-+]stdout: Sig(Blk|Ign):`)

// states are programs that look at what they got from their parent.
func states() []kind {
	own := []difference{ownGroup}
	return []kind{
		{name: "a program that looks at its state", argv: []string{"look"}, differs: own},
		{
			name: "a static program that looks at its state", argv: []string{"look-static"},
			needs: []string{"look-static"}, differs: own,
		},
		{
			name: "a 32-bit program that looks at its state", argv: []string{"look-32"},
			needs: []string{"look-32"}, differs: own,
		},
		{
			name: "a musl program that looks at its state", argv: []string{"look-musl"},
			needs: []string{"look-musl"}, differs: own,
		},
		{
			name: "a static musl program that looks at its state", argv: []string{"look-musl-static"},
			needs: []string{"look-musl-static"}, differs: own,
		},
		{name: "a job that looks at its state", argv: []string{"look"}, job: true},
		{
			name: "a program on a terminal that looks at its state", argv: []string{"look"},
			keys: []key{}, rules: []rule{whichTerminal}, differs: []difference{sharedGroup},
		},
		{name: "a child of a shell that looks at its state", sh: "look; :"},
		{name: "a static child of a shell", sh: "look-static; :", needs: []string{"look-static"}},
		{name: "a 32-bit child of a shell", sh: "look-32; :", needs: []string{"look-32"}},
		{name: "a musl child of a shell", sh: "look-musl; :", needs: []string{"look-musl"}},
		{
			name: "a static musl child of a shell", sh: "look-musl-static; :",
			needs: []string{"look-musl-static"},
		},
		{name: "the environment", argv: []string{"look", "env"}, differs: []difference{preloaded}},
		{name: "the environment by env", argv: []string{"env"}, differs: []difference{preloaded}},
		{
			name: "the environment of a static program", argv: []string{"look-static", "env"},
			needs: []string{"look-static"}, differs: []difference{preloaded},
		},
		{name: "what is mapped", argv: []string{"look", "maps"}, differs: []difference{interposer}},
		{
			name: "what is mapped in a static program", argv: []string{"look-static", "maps"},
			needs: []string{"look-static"},
		},
		{
			name: "variables of odd names and values", argv: []string{"look", "env"},
			differs: []difference{preloaded},
			env: []string{
				"A=1=2", "B=", "C=line\nline", "D=\xff\xfe", "lower=x", "a.b=dot", "E= spaces ",
			},
		},
		{
			name: "a variable twice", outer: `run env -i sh -c 'echo $USER'; exec -a x run look env`,
			differs: []difference{preloaded},
		},
		{
			name:  "a large environment",
			argv:  []string{"sh", "-c", `echo ${#BIG}; look env | wc -c >&2; env | grep -c BIG`},
			env:   []string{"BIG=" + string(repeated('x', 100_000))},
			rules: []rule{replace("how much gpumem adds", `stderr: 1[0-9]{5}$`, "stderr: many")},
		},
		{
			name: "no environment", outer: `env -i "$(command -v run)" "$(command -v look)" env`,
			differs: []difference{preloaded},
		},
		{
			name:  "no HOME",
			outer: `unset HOME TMPDIR USER; run sh -c 'echo ${HOME-none} ${TMPDIR-none} ${USER-none}'`,
		},
		{
			name:  "a TMPDIR that is not there",
			outer: `TMPDIR=/no/such run sh -c 'echo $TMPDIR; exit 3'; echo $?`,
		},
		{
			name:  "a TMPDIR that nobody may write",
			outer: `TMPDIR=/proc run sh -c 'echo $TMPDIR; exit 3'; echo $?`,
		},
		{
			name:    "signals that are blocked and ignored around gpumem",
			outer:   `acts with ignore=1 ignore=2 ignore=13 ignore=17 block=10 block=34 -- run look status`,
			differs: []difference{dispositions},
		},
		{
			name:    "every signal ignored around gpumem",
			outer:   `acts with $(for s in $(seq 1 64); do echo ignore=$s; done) -- run look status`,
			differs: []difference{dispositions},
		},
		{
			name:    "every signal blocked around gpumem",
			outer:   `acts with $(for s in $(seq 1 64); do echo block=$s; done) -- run look status`,
			differs: []difference{dispositions},
		},
		{
			name: "signals that a child has blocked and ignored",
			sh: `acts with ignore=2 ignore=25 block=25 block=31 -- look status
acts with ignore=25 -- acts dispositions`,
		},
		{name: "signals in the C library's words", argv: []string{"acts", "dispositions"}},
		{
			name:  "descriptors that are open around gpumem",
			outer: `run look fds 5</dev/null 7>seven 9<>nine; acts with open=200 -- run look fds`,
		},
		{name: "no input around gpumem", outer: `run look fds <&-; run cat <&-; echo $?`, differs: []difference{opened}},
		{
			name:    "no output around gpumem",
			outer:   `run sh -c 'echo lost; echo $? >&2' >&-; echo $?; run look fds >&-`,
			differs: []difference{opened},
		},
		{
			name:    "no stderr around gpumem",
			outer:   `run sh -c 'look fds; echo x >&2; exit 4' 2>&-; echo $?`,
			differs: []difference{opened},
		},
		{
			name:    "nothing open around gpumem",
			outer:   `run sh -c 'look fds >file 2>&1; exit 4' <&- >&- 2>&-; echo $?; cat file`,
			differs: []difference{opened},
		},
		{
			name: "/dev/full around gpumem",
			outer: `run sh -c 'echo lost; exit 3' >/dev/full; echo $?; run sh -c 'echo lost >&2
exit 6' 2>/dev/full; echo $?`,
		},
		{
			name: "nobody to tell the answer",
			outer: `run-and-tell sh -c 'exit 6' 2>/dev/full; echo $?; run-and-tell sh -c 'exit 6' 2>/dev/null
echo $?
run-and-tell sh -c 'exit 6' 2>&-; echo $?; run-and-tell sh -c 'exit 6' 2> >(exec true)
echo $?; run-and-tell true 2>/dev/full; echo $?`,
		},
		{
			name: "files around gpumem",
			outer: `echo in >in; run sh -c 'look fds; read x; echo $x; echo more' <in >out 2>&1; cat out
run sh -c 'echo appended' >>out; cat out`,
		},
		{
			name:  "a reader that goes away around gpumem",
			outer: `run acts flood | head -c 5; echo; echo ${PIPESTATUS[@]}`,
		},
		{name: "a socket as input", outer: `exec 3<>/dev/null; run cat <&3; echo $?`},
		{
			name:  "the umask around gpumem",
			outer: `umask 027; run look status; run sh -c ': >new'; ls -l new | cut -c1-10`,
		},
		{name: "the nice value around gpumem", outer: `nice -n 5 run look sched; run nice`},
		{
			name:  "schedulers around gpumem",
			outer: `chrt -b 0 run look sched; ionice -c 3 run look sched; taskset -c 0 run look status`,
			rules: []rule{groups},
		},
		{
			name:  "OOM score around gpumem",
			outer: `echo 300 >/proc/self/oom_score_adj; run look sched; choom -n 500 -- run look sched`,
		},
		{
			name:  "a signal at the parent's death around gpumem",
			outer: `acts with deathsig=15 -- run look ids`, rules: []rule{groups},
			differs: []difference{
				differs("the signal is for gpumem, which passes it on", `^[-+]stdout: signal at the parent's death`),
			},
		},
		{name: "timer slack around gpumem", outer: `acts with slack=123456 -- run look sched`},
		{
			name:  "no new privileges around gpumem",
			outer: `setpriv --no-new-privs run look status secure`,
		},
		{
			name:  "fewer capabilities around gpumem",
			outer: `setpriv --bounding-set -sys_admin,-net_raw --inh-caps -all run look status`,
		},
		{
			name:  "another personality around gpumem",
			outer: `setarch -R run look secure; setarch --uname-2.6 run uname -r`,
		},
		{
			name:  "a working directory that is gone around gpumem",
			outer: `mkdir gone; cd gone; rmdir ../gone; run sh -c 'echo here; ls -a; exit 3'; echo $?`,
		},
		{
			name:  "a linked working directory",
			outer: `mkdir real; ln -s real link; cd link; run sh -c 'echo $PWD; pwd -P'; run pwd`,
		},
		{name: "nohup around gpumem", outer: `nohup run look status 2>&1`, rules: []rule{groups}},
		{
			name: "setsid around gpumem", outer: `setsid -w run look ids; echo $?`,
			rules: []rule{groups},
			differs: []difference{
				differs("gpumem is the session's leader", `^[-+]stdout: (session leader|session of its parent)`),
			},
		},
		{
			// timeout signals its child and then its group: a second time, or not, as it happens.
			name: "timeout around gpumem",
			outer: `timeout .5 run sleep 30; echo $?; timeout -s INT .5 run sh -c 'trap "trap \"\" INT; echo int; exit 9" INT
sleep 3 & wait'; echo $?`,
		},
		{
			name:  "env -i around gpumem",
			outer: `env -i PATH="$PATH" run sh -c 'echo ${HOME-none}; exit 3'; echo $?`,
		},
	}
}

// groups is for rows about something else, see ownGroup.
var groups = replace("which group the program is in",
	`(group leader|group of its parent): (yes|no)`, "$1: either")

func repeated(c byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = c
	}
	return out
}

package children

import (
	"fmt"
	"strings"
)

// endings are all signals that end a program.
func endings() []kind {
	var all []kind
	names := "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT " +
		"XCPU XFSZ VTALRM PROF IO PWR SYS RTMIN RTMAX"
	for _, s := range strings.Fields(names) {
		all = append(all, kind{name: "an end by SIG" + s, sh: "kill -" + s + " $$"})
	}
	return all
}

// limited are programs under limits, set by themselves or by who starts gpumem.
func limited() []kind {
	var all []kind
	for _, l := range []struct{ flag, values string }{
		{"-f", "0 1 1000 8200 100000"}, {"-n", "16 64 1024"}, {"-v", "100000 1000000 4000000"},
		{"-s", "256 8192 65536 unlimited"}, {"-c", "0 unlimited"}, {"-d", "20000 1000000"}, {"-l", "0 64"},
		{"-u", "5000"}, {"-t", "100"}, {"-i", "10"}, {"-m", "100000"}, {"-x", "0 5"},
	} {
		all = append(all, kind{
			name: "ulimit " + l.flag + " for children of bash",
			bash: fmt.Sprintf(`for v in %s; do
	(ulimit %s $v && look limits && ls -d / && acts bigfile; echo $?; rm -f big)
done`, l.values, l.flag),
			rules: signalNoise,
		})
	}
	return append(all,
		kind{name: "ulimit -a", bash: "ulimit -a; ulimit -Ha; sh -c 'ulimit -a'"},
		kind{
			name: "ulimit -n around gpumem", outer: `ulimit -n 256; run look limits; run acts manyfiles`,
		},
		kind{
			name:  "a low soft limit of files around gpumem",
			outer: `ulimit -Sn 64; run look limits; run sh -c 'ulimit -n; ulimit -Hn'`,
		},
		kind{name: "ulimit -f around gpumem", outer: `ulimit -f 100000; run acts bigfile; echo $?`},
		kind{
			name: "a low ulimit -f around gpumem", outer: `ulimit -f 100; run acts bigfile; echo $?`,
			rules: []rule{
				without("the shell tells only of its own children", `File size limit exceeded`),
			},
		},
		kind{name: "ulimit -s around gpumem", outer: `ulimit -s 1024; run look limits`},
		kind{
			name: "ulimit -v around gpumem", outer: `ulimit -v 4000000; run look limits; run acts most`,
		},
		kind{
			name:  "ulimit -c around gpumem",
			outer: `ulimit -Sc 0; run look limits; ulimit -c 0; run look limits`,
		},
		kind{
			name: "ulimit -t around gpumem", outer: `ulimit -t 20; run acts cpulimit; echo $?`,
			rules: []rule{
				without("the shell tells only of its own children", `CPU time limit exceeded`),
			},
		},
		kind{name: "a program that uses up its limit of files", sh: `ulimit -n 32; acts manyfiles`},
		kind{name: "a program that uses up its processor time", argv: []string{"acts", "cpulimit"}},
		kind{name: "prlimit", argv: []string{"prlimit", "--nofile=50:60", "--core=0", "look", "limits"}},
		kind{
			name: "a core file", bash: `ulimit -c unlimited; acts fault; echo $?; rm -f core*`,
			rules: signalNoise,
		},
	)
}

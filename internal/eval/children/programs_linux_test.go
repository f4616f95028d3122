package children

// natives are programs of many makes, and what programs in C do.
func natives() []kind {
	var all []kind
	profile := map[string]string{"gmon.out": ""} // which a program with -pg writes
	for _, name := range []string{"hello", "hello-static", "hello-static-pie", "hello-no-pie", "hello-now",
		"hello-32", "hello-32-static", "hello-asan", "hello-profiled",
		"hello-musl", "hello-musl-static", "hello-go"} {
		all = append(all,
			kind{
				name: name, argv: []string{name}, needs: []string{name},
				files: map[string]string{"gmon.out": ""},
			},
			kind{name: name + " below a shell", sh: name + "; echo $?", needs: []string{name}, files: profile})
	}
	for _, act := range []struct{ act, what string }{
		{"vfork", "a child by vfork"},
		{"spawn", "a child by posix_spawn"},
		{"clone", "a child that shares memory"},
		{"clone3", "a child by the bare system call"},
		{"fork100", "a hundred children"},
		{"chain 20", "a chain of 20 programs"},
		{"scan", "a program that scans its descriptors"},
		{"closefrom acts scan", "a program that closes all descriptors"},
		{"closeevery", "a program that closes even the first three"},
		{"numbers", "the numbers of new descriptors"},
		{"empty", "a program without arguments and environment"},
		{"fexecve", "a program from memory"},
		{"threads", "a program that counts its threads"},
		{"forkthreads", "forks in many threads"},
		{"atfork", "handlers of forks"},
		{"daemon", "a daemon that writes after the end"},
		{"daemon ls -d /", "a daemon that becomes another program after the end"},
		{"orphan", "orphans go to their subreaper"},
		{"parentsdeath", "a signal at the parent's death"},
		{"segv", "a handled fault"},
		{"overflow", "a stack that overflows"},
		{"fault", "a fault that ends the program"},
		{"abort", "abort"},
		{"timers", "the three interval timers"},
		{"alarm", "an alarm that ends the program"},
		{"timer", "a POSIX timer"},
		{"queued", "queued signals"},
		{"signalfd", "signals from a descriptor"},
		{"atexit", "handlers of exit"},
		{"quickexit", "quick_exit"},
		{"traced", "a program that traces its child"},
		{"usage", "a program that did not start children"},
		{"dlopen", "dlopen and its errors"},
		{"dlmopen", "a library in a space of its own"},
		{"strict", "strict seccomp"},
		{"fence", "a filter that allows writing and ending"},
		{"only refuse acts greet", "a program that is refused what it does not need"},
		{"without sockets kill acts greet", "a program that ends at the first socket"},
		{"without sockets refuse hello", "a program without sockets"},
		{"without files kill acts greet", "a program that ends when it gives a file a length"},
		{"without files refuse hello", "a program without lengths of files"},
		{"without threads kill acts greet", "a program that ends at the first thread"},
		{"without signals kill acts greet", "a program that ends when it sends a signal"},
		{"unshare", "unshare of everything"},
		{"drop", "a program that gives up root"},
		{"drop look ids status secure", "a program that gives up root and becomes another"},
		{"mlock", "memory that is locked"},
		{"mlocklimit 65536", "a limit of locked memory"},
		{"mlocklimit 4000000", "a limit of locked memory of 4 MB"},
		{"mlocklimit 100000000", "a limit of locked memory of 100 MB"},
		{"heap", "what the heap holds at the start"},
	} {
		all = append(all, kind{name: act.what, sh: "acts " + act.act, rules: signalNoise})
	}
	return append(all,
		kind{
			name: "a program that may do what it needs alone, or ends", sh: "acts only kill acts greet",
			rules: signalNoise,
			differs: []difference{
				differs("the loader reads /proc/self/exe where LD_PRELOAD has $LIB, and the filter ends who does "+
					"(docs/injection.md)", `^[-+](end: exit (15|159)|stdout: greetings|stderr: .*Bad system call)`),
			},
		},
		kind{
			name: "whose the functions are", sh: "acts owners",
			differs: []difference{
				differs("the interposer answers dlsym, to see how the driver's functions are found",
					`^[-+]stdout: (dlsym|dlopen|dlvsym)[a-z ]*: `),
			},
		},
		kind{
			name: "the objects of a program", sh: "acts objects",
			differs: []difference{
				differs("the interposer is a library of the program",
					`^\+stdout: object lib(gpumem_capture|dl)\.so`),
			},
		},
		kind{name: "regions of memory", sh: "acts regions"},
		kind{name: "a bounded bomb of forks", sh: "acts bomb 6", alone: true},
		kind{
			name:  "a static program that starts children",
			sh:    "acts-static vfork; acts-static fork100; acts-static spawn",
			needs: []string{"acts-static"},
		},
		kind{
			name: "a daemon that becomes a shell after the end",
			sh:   `acts daemon sh -c 'ls -d /; echo $?'`,
		},
		kind{
			name: "LD_DEBUG",
			sh:   `LD_DEBUG=statistics LD_DEBUG_OUTPUT=debug hello; ls debug.* | wc -l; rm -f debug.*`,
		},
		kind{
			name: "LD_PRELOAD of one's own in a child",
			sh:   `LD_PRELOAD=$(dirname $(command -v look))/libown.so hello; echo $?`,
		},
		kind{
			name: "LD_PRELOAD of one's own around gpumem", env: []string{"LD_PRELOAD=$TOOLS/libown.so"},
			argv: []string{"hello"}, differs: []difference{alsoLoaded},
		},
		kind{
			name: "LD_PRELOAD of one's own beside it", env: []string{"LD_PRELOAD=$TOOLS/libown.so"},
			sh: `hello; echo "$LD_PRELOAD" | grep -c own`, differs: []difference{alsoLoaded},
		},
		kind{
			name: "LD_PRELOAD of a library that is not there", env: []string{"LD_PRELOAD=libnowhere.so"},
			argv: []string{"hello"}, differs: []difference{alsoLoaded},
		},
		kind{name: "an empty LD_PRELOAD in a child", sh: `LD_PRELOAD= hello; env -u LD_PRELOAD hello`},
		kind{
			name: "LD_AUDIT of one's own", env: []string{"LD_AUDIT=$TOOLS/libaudit.so"},
			argv: []string{"acts", "greet"},
			differs: []difference{
				differs("the interposer is a library of the program",
					`^\+stderr: auditor: lib(gpumem_capture|dl)\.so`),
				differs("gpumem is a program of the loader's as well",
					`^\+stderr: auditor: (lib(pthread|c)\.so|ld-linux|linux-vdso|$)`),
			},
		},
		kind{name: "LD_BIND_NOW", env: []string{"LD_BIND_NOW=1"}, argv: []string{"acts", "dlopen"}},
		kind{
			name: "LD_LIBRARY_PATH of one's own", env: []string{"LD_LIBRARY_PATH=$TOOLS"},
			argv: []string{"acts", "open", "libown.so"},
		},
		kind{
			name: "LD_LIBRARY_PATH that leads elsewhere", env: []string{"LD_LIBRARY_PATH=/no/such:$CWD"},
			argv: []string{"hello"},
		},
		kind{
			name: "LD_TRACE_LOADED_OBJECTS", sh: `ldd $(command -v hello)`, rules: []rule{addresses},
			differs: []difference{
				differs("the interposer is a library of the program",
					`^\+stdout: \s+\S*(libgpumem_capture|libdl)\.so`),
			},
		},
		kind{
			name: "the loader as a command",
			sh: `h=$(command -v hello)
$(ldd $h | grep -o '/lib[^ ]*ld-linux[^ ]*') $h; echo $?`,
		},
		kind{
			name: "an allocator's own variables",
			env: []string{
				"MALLOC_PERTURB_=5", "MALLOC_ARENA_MAX=1", "GLIBC_TUNABLES=glibc.malloc.check=0",
			},
			argv: []string{"acts", "most"},
		},
		kind{
			name: "ASAN_OPTIONS of one's own", env: []string{"ASAN_OPTIONS=exitcode=9:help=0"},
			argv: []string{"hello-asan"}, needs: []string{"hello-asan"},
		},
		kind{
			name: "gcc that compiles and runs",
			sh: `printf 'int main(){return 13;}' | gcc -x c -o prog - && ./prog; echo $?; rm -f prog
echo 'int main(){' | gcc -x c - 2>&1 | tail -1 | cut -c1-9`,
		},
		kind{
			name:  "gdb in batch",
			argv:  []string{"gdb", "-nx", "-batch", "-ex", "run", "-ex", "bt", "--args", "acts", "fault"},
			needs: []string{"gdb"}, rules: []rule{addresses, pids},
		},
		kind{
			name: "strace",
			sh: `strace -f -qq -e trace=exit_group,kill -o log sh -c 'true; exit 3'; echo $?
grep -c exit_group log; rm log`,
			needs: []string{"strace"},
		},
		kind{
			name:  "strace of signals",
			argv:  []string{"strace", "-qq", "-e", "trace=none", "acts", "timers"},
			needs: []string{"strace"},
			rules: []rule{without("timers come as they come", `^stderr: --- SIG(ALRM|PROF|VTALRM)`)},
		},
		kind{
			name: "valgrind", sh: `valgrind -q --error-exitcode=9 hello; echo $?`,
			needs: []string{"valgrind"}, alone: true,
		},
		kind{
			name: "a Go program with its limits",
			sh:   `ulimit -Sn 100; hello-go a b; trap '' HUP INT; hello-go`, needs: []string{"hello-go"},
		},
	)
}

// alsoLoaded is what variables of the loader do to gpumem itself.
var alsoLoaded = differs("gpumem is a program of the loader's as well: what is preloaded around it comes in",
	`^\+stderr: (own library: loaded|ERROR: ld.so: object 'libnowhere.so')`)

// signalNoise is what shells say of an ended child.
var signalNoise = []rule{replace("process identifiers", `(line [0-9]+: +)[0-9]+ `, "${1}PID ")}

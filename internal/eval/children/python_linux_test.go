package children

import "fmt"

// agentSeen is what a Python program that looks for it sees of the agent.
var agentSeen = []difference{
	differs("the agent's loop is a thread of the program", `^[-+]stdout: (counted|frames|tasks) `),
	differs("the agent says goodbye at the exit", `^[-+]stdout: at exit `),
	differs("the agent lies on the path", `^\+stdout: (path|cached) \S*/gpumem/python-`),
	differs("the agent watches for frameworks that are imported", `^\+stdout: finder Watch$`),
}

// agentModules is what the agent imports.
var agentModules = []difference{
	differs("the agent's modules", `^\+stdout: module gpumem_agent`),
	differs("modules of the standard library that the agent needs",
		`^\+stdout: module (_operator|_socket|atexit|fcntl|itertools)$`),
}

// pythons are interpreters in all the ways they are started, and programs that
// look at what they run in.
func pythons() []kind {
	look := func(sections ...string) []string {
		return append([]string{"python3", "$TOOLS/look.py"}, sections...)
	}
	all := []kind{
		{name: "python that looks at its settings", argv: look("settings", "files", "debugging")},
		{
			name: "python that looks at its hooks and threads", argv: look("hooks", "threads"),
			differs: agentSeen[:2],
		},
		{name: "python that looks at its path", argv: look("paths"), differs: agentSeen[2:]},
		{name: "python that looks at its modules", argv: look("modules"), differs: agentModules},
		{name: "python that looks at its objects", argv: look("objects"), differs: []difference{
			differs("the agent's objects", `^\+stdout: object of gpumem's `)}},
		{
			name: "python that looks at its environment", argv: look("environment"),
			differs: []difference{preloaded},
		},
		{
			name: "python's limits and descriptors",
			py: `
import os, resource
for n in sorted(dir(resource)):
  if n.startswith('RLIMIT_'): print(n, resource.getrlimit(getattr(resource, n)))
print(sorted(os.listdir('/proc/self/fd')))
print(os.umask(0), os.getcwd(), os.getpriority(0, 0), os.sched_getaffinity(0))`,
			differs: []difference{
				differs("the agent's connection is a descriptor", `^[-+]stdout: \['0', '1', '2', '3'(, '700')?\]$`),
			},
		},
		{
			name: "python -S",
			argv: []string{
				"python3", "-S", "-c", "import sys; print(sorted(sys.modules)); print(sys.flags)",
			},
		},
		{
			name: "python -I",
			argv: []string{
				"python3", "-I", "$TOOLS/look.py", "settings", "hooks", "threads", "modules",
				"paths",
			},
		},
		{
			name: "python -E",
			argv: []string{
				"python3", "-E", "$TOOLS/look.py", "settings", "hooks", "threads", "modules",
				"paths",
			},
		},
		{name: "python -s", argv: []string{"python3", "-s", "$TOOLS/look.py", "settings"}},
		{name: "python -O", argv: []string{"python3", "-OO", "$TOOLS/look.py", "settings"}},
		{name: "python -B -u", argv: []string{"python3", "-B", "-u", "$TOOLS/look.py", "settings"}},
		{name: "python -P", argv: []string{"python3", "-P", "$TOOLS/look.py", "settings"}},
		{
			name: "python -v", argv: []string{"python3", "-v", "-c", "pass"},
			rules: []rule{without("who imports what is long", `^stderr: (import|#|\s)`), addresses},
		},
		{
			name:  "python -X importtime",
			argv:  []string{"python3", "-X", "importtime", "-c", "print(1)"},
			rules: []rule{without("times of imports", `^stderr: import time:`)},
		},
		{
			name: "python -q -x", argv: []string{"python3", "-x", "x.py"},
			files: map[string]string{"x.py": "not python at all\nprint('second line')\n"},
		},
		{
			name: "python of a module", argv: []string{"python3", "-m", "mod", "a"},
			files: map[string]string{
				"mod.py": `import sys
print(__name__, sys.argv, __spec__.name, sys.path[0])
`,
			},
		},
		{
			name: "python of a package", argv: []string{"python3", "-m", "pack"},
			files: map[string]string{
				"pack/__init__.py": "",
				"pack/__main__.py": "print(__name__, __package__)\n",
			},
		},
		{
			name:  "python of a folder and of a zip file",
			sh:    `python3 app; python3 -m zipapp app -o app.pyz; python3 app.pyz; rm -r app.pyz app/__pycache__`,
			files: map[string]string{"app/__main__.py": "import sys; print(sys.argv[0], __name__)\n"},
		},
		{
			name: "python of a script on its input", argv: []string{"python3"},
			stdin: `import sys
print(sys.argv, sys.stdin.isatty())
raise SystemExit(4)
`,
		},
		{
			name: "python - with input", argv: []string{"python3", "-", "a"},
			stdin: "import sys\nprint(sys.argv)\n",
		},
		{name: "python of a script that is not there", argv: []string{"python3", "gone.py"}},
		{
			name: "python of wrong syntax",
			argv: []string{
				"python3", "-c",
				`
def f(:`,
			},
		},
		{name: "python with a wrong option", argv: []string{"python3", "--no-such"}},
		{name: "python --version and --help", sh: "python3 -VV; python3 --help | tail -2"},
		{
			name: "python -i", argv: []string{"python3", "-i", "-c", "x = 1"},
			stdin: "print(x + 1)\n1/0\nexit(6)\n",
		},
		{
			name: "python on a terminal", argv: []string{"python3", "-q"},
			keys: []key{
				{">>> ", "import threading\n"}, {">>> ", "print(20 + 22)\n"}, {"42", ""},
				{">>> ", "exit(5)\n"},
			},
			env:   []string{"PYTHON_BASIC_REPL=1"},
			rules: []rule{without("what readline draws", `^terminal: >>> |^terminal: \x1b`)},
		},
		{
			name: "PYTHONSTARTUP", argv: []string{"python3", "-q", "-i"}, stdin: "print(started)\n",
			env:   []string{"PYTHONSTARTUP=$CWD/start.py"},
			files: map[string]string{"start.py": "started = 'by startup'\n"},
		},
		{
			name: "PYTHONPATH of one's own",
			argv: []string{
				"python3", "-c",
				"import mine, sys; print(mine.x, [p for p in sys.path if '/gpumem/python-' not in p])",
			},
			env:   []string{"PYTHONPATH=$CWD/lib:/no/such"},
			files: map[string]string{"lib/mine.py": "x = 'mine'\n"}, rules: []rule{groups},
		},
		{
			name: "PYTHONPATH that is empty",
			argv: []string{
				"python3", "-c",
				"import sys; print('' in sys.path, len([p for p in sys.path if '/gpumem/python-' not in p]))",
			},
			env: []string{"PYTHONPATH="},
		},
		{
			name: "PYTHONPATH with an empty entry", argv: []string{"python3", "script.py"},
			env: []string{"PYTHONPATH=:/no/such"},
			files: map[string]string{
				"script.py": "import sys; print([p for p in sys.path if '/gpumem/python-' not in p])\n",
			},
		},
		{
			name: "PYTHONHOME that is right",
			sh: `PYTHONHOME=$(python3 -c 'import sys; print(sys.prefix)') python3 -c 'import sys, os
print(sys.prefix, "PYTHONHOME" in os.environ)'`,
		},
		{
			name: "PYTHONHOME that is wrong", sh: `PYTHONHOME=/no/such python3 -c 'print(1)'; echo $?`,
			rules: []rule{
				addresses, without("which folders are searched", `/gpumem/python-|PYTHONPATH = `),
			},
		},
		{
			name: "PYTHONDONTWRITEBYTECODE",
			argv: []string{"python3", "-c", "import mine, sys; print(sys.dont_write_bytecode)"},
			env:  []string{"PYTHONDONTWRITEBYTECODE=1"}, files: map[string]string{"mine.py": ""},
		},
		{
			name: "PYTHONPYCACHEPREFIX",
			argv: []string{"python3", "-c", "import mine, sys; print(sys.pycache_prefix)"},
			env:  []string{"PYTHONPYCACHEPREFIX=$CWD/cache"}, files: map[string]string{"mine.py": ""},
		},
		{
			name: "bytecode that is written", argv: []string{"python3", "-c", "import mine"},
			files: map[string]string{"mine.py": "x = 1\n"},
		},
		{
			name: "PYTHONHASHSEED",
			argv: []string{"python3", "-c", "print(hash('a'), list({'a', 'b', 'c'}))"},
			env:  []string{"PYTHONHASHSEED=5"},
		},
		{
			name: "random numbers of a seed",
			py: `
import random
random.seed(5)
print([random.random() for _ in range(3)])`,
		},
		{
			name: "PYTHONMALLOC=debug", argv: []string{"python3", "-c", "print(1)"},
			env: []string{"PYTHONMALLOC=debug"},
		},
		{
			name: "PYTHONUTF8 and encodings", argv: look("settings"),
			env: []string{"PYTHONUTF8=1", "PYTHONIOENCODING=latin-1:replace"},
		},
		{
			name: "python in the C locale", argv: look("settings"),
			env: []string{"LANG=C", "LC_ALL=C", "PYTHONCOERCECLOCALE=0"},
		},
		{
			name: "PYTHONFAULTHANDLER", argv: look("debugging", "hooks"),
			env: []string{"PYTHONFAULTHANDLER=1"}, differs: agentSeen[1:2],
		},
		{name: "PYTHONTRACEMALLOC", argv: look("debugging"), env: []string{"PYTHONTRACEMALLOC=5"}},
		{
			name: "PYTHONASYNCIODEBUG",
			argv: []string{
				"python3", "-c",
				`
import asyncio
async def f(): print(asyncio.get_running_loop().get_debug())
asyncio.run(f())`,
			},
			env: []string{"PYTHONASYNCIODEBUG=1"},
		},
		{
			name: "PYTHONPROFILEIMPORTTIME", argv: []string{"python3", "-c", "print(1)"},
			env:   []string{"PYTHONPROFILEIMPORTTIME=1"},
			rules: []rule{without("times of imports", `^stderr: import time:`)},
		},
		{
			name: "a sitecustomize of one's own",
			argv: []string{
				"python3", "-c",
				"import sys, sitecustomize; print(sys.mine, sitecustomize.__file__)",
			},
			env:   []string{"PYTHONPATH=$CWD/site"},
			files: map[string]string{"site/sitecustomize.py": "import sys\nsys.mine = 'mine'\n"},
		},
		{
			name: "a sitecustomize that fails", argv: []string{"python3", "-c", "print(1)"},
			env:   []string{"PYTHONPATH=$CWD/site"},
			files: map[string]string{"site/sitecustomize.py": "1/0\n"},
		},
		{
			name: "a sitecustomize that exits", argv: []string{"python3", "-c", "print(1)"},
			env:   []string{"PYTHONPATH=$CWD/site"},
			files: map[string]string{"site/sitecustomize.py": "import sys; sys.exit(7)\n"},
			differs: []difference{
				differs("the agent's sitecustomize runs the user's, so it is in the traceback",
					`^\+stderr:   (File "\S+/gpumem/python-|  _chain\(|  spec\.loader\.exec_module|  [ ~^]+$)`),
			},
		},
		{
			name: "a sitecustomize that starts a thread", argv: []string{"python3", "-c", "print(2)"},
			env: []string{"PYTHONPATH=$CWD/site"},
			files: map[string]string{
				"site/sitecustomize.py": `import threading
t = threading.Thread(target=print, args=(1,)); t.start(); t.join()
`,
			},
		},
		{
			name: "a usercustomize of one's own",
			sh: `d=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $d
echo 'import sys; sys.mine = "user"' >$d/usercustomize.py; python3 -c 'import sys
print(sys.mine)'; python3 -s -c 'import sys; print(hasattr(sys, "mine"))'; rm -r ../home/.local`,
		},
		{
			name: "a .pth file that runs code",
			sh: `d=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $d
echo 'import sys; sys.mine = "pth"' >$d/a.pth; python3 -c 'import sys; print(sys.mine)'
rm -r ../home/.local`,
		},
		{
			name: "a module of the program's that is called as one of the agent's",
			argv: []string{"python3", "main.py"},
			files: map[string]string{
				"main.py": `import connection, figures, sampling, process, steps
print(connection.x, figures.x)
`,
				"connection.py": "x = 1\n",
				"figures.py":    "x = 2\n",
				"sampling.py":   "",
				"process.py":    "",
				"steps.py":      "",
			},
		},
		{
			name: "modules of the program's that shadow the standard library",
			argv: []string{"python3", "main.py"},
			files: map[string]string{
				"main.py":      "import json, socket\nprint(json.x, socket.x)\n",
				"json.py":      "x = 'own json'\n",
				"socket.py":    "x = 'own socket'\n",
				"select.py":    "1/0\n",
				"threading.py": "1/0\n",
				"random.py":    "1/0\n",
			},
		},
	}
	for _, version := range []string{"3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"} {
		seen := agentSeen[:2]
		if version == "3.6" || version == "3.7" {
			seen = nil // the agent wants 3.8
		}
		sections := look("settings", "hooks", "files", "debugging", "threads")
		all = append(all, kind{
			name:    "python " + version,
			argv:    append([]string{"python" + version}, sections[1:]...),
			maybe:   []string{"python" + version},
			differs: seen,
		})
	}
	for _, code := range []string{"0", "1", "3", "255", "256", "-1", "None", "'text'", "True", "2.5", "[]"} {
		all = append(all, kind{name: fmt.Sprintf("sys.exit(%s)", code), py: "import sys; sys.exit(" + code + ")"})
	}
	return all
}

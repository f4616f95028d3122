package children

import "strings"

// pythonTools are programs in Python that start Python: tests, packages, pools.
func pythonTools() []kind {
	pool := func(method string) string {
		return strings.ReplaceAll(`import multiprocessing as m
def f(x): return x * x
if __name__ == '__main__':
  c = m.get_context('METHOD')
  with c.Pool(2) as p: print(p.map(f, range(5)))
  q = c.Queue(); p = c.Process(target=q.put, args=(7,)); p.start(); print(q.get())
  p.join(); print(p.exitcode, m.active_children())
  p = c.Process(target=exit, args=(3,)); p.start(); p.join(); print(p.exitcode)
`, "METHOD", method)
	}
	return []kind{
		{
			name: "multiprocessing by fork", argv: []string{"python3", "pool.py"},
			files: map[string]string{"pool.py": pool("fork")},
		},
		{
			name: "multiprocessing by spawn", argv: []string{"python3", "pool.py"},
			files: map[string]string{"pool.py": pool("spawn")},
		},
		{
			name: "multiprocessing by a server of forks", argv: []string{"python3", "pool.py"},
			files: map[string]string{"pool.py": pool("forkserver")},
		},
		{
			name: "shared memory of multiprocessing", argv: []string{"python3", "m.py"},
			files: map[string]string{
				"m.py": `from multiprocessing import shared_memory as s, Process, Value
def f(n, v): b = s.SharedMemory(n); b.buf[0] = 5; b.close(); v.value = 3
if __name__ == '__main__':
  b = s.SharedMemory(create=True, size=10); v = Value('i')
  p = Process(target=f, args=(b.name, v)); p.start(); p.join()
  print(b.buf[0], v.value); b.close(); b.unlink()
`,
			},
		},
		{
			name: "python -W error",
			argv: []string{
				"python3", "-W", "error", "-c",
				`
import os, threading, subprocess, multiprocessing
subprocess.run(['true'])
pid = os.fork()
if pid == 0: os._exit(0)
os.wait()
print('no warning')`,
			},
		},
		{
			name: "python -X dev",
			argv: []string{
				"python3", "-X", "dev", "-c",
				`
import os, socket, time
time.sleep(.2)
pid = os.fork()
if pid == 0: os._exit(0)
os.wait()
print('no warning')`,
			},
		},
		{
			name: "python -W error of a newer version", maybe: []string{"python3.13"},
			argv: []string{
				"python3.13", "-W", "error", "-c",
				`
import os, time
time.sleep(.2)
pid = os.fork()
if pid == 0: os._exit(0)
os.wait()
print('no warning')`,
			},
		},
		{
			name: "python 3.13 that unshares", maybe: []string{"python3.13"},
			argv: []string{
				"python3.13", "-c",
				`
import os, time
time.sleep(.2)
os.unshare(os.CLONE_NEWUSER)
print('ok')`,
			},
		},
		{
			name: "python 3.12 that enters a namespace", maybe: []string{"python3.12"},
			argv: []string{
				"python3.12", "-c",
				`
import os, time
time.sleep(.2)
os.setns(os.open('/proc/self/ns/mnt', os.O_RDONLY), os.CLONE_NEWNS)
print('ok')`,
			},
		},
		{
			name: "python 3.12's monitoring", maybe: []string{"python3.12"},
			argv: []string{
				"python3.12", "-c",
				`
import sys
m = sys.monitoring
m.use_tool_id(0, 'mine'); m.use_tool_id(2, 'two')
print([m.get_tool(i) for i in range(6)])`,
			},
		},
		{
			name: "warnings on every occasion",
			argv: []string{
				"python3", "-W", "always", "-X", "tracemalloc", "-c",
				`
import subprocess, time
p = subprocess.Popen(['true']); p.wait()
time.sleep(.2)`,
			},
		},
		{
			name: "unittest", argv: []string{"python3", "-m", "unittest", "-v", "tests"},
			rules: []rule{durations},
			files: map[string]string{
				"tests.py": `import unittest, threading
class T(unittest.TestCase):
  def test_a(self): self.assertEqual(threading.active_count(), 1)
  def test_b(self): self.fail('b')
  @unittest.skip('why')
  def test_c(self): pass
`,
			},
		},
		{
			name:  "pytest",
			argv:  []string{"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_t.py"},
			needs: []string{"pytest"}, rules: []rule{durations},
			files: map[string]string{
				"test_t.py": `import os, threading, warnings
def test_a(tmp_path, monkeypatch, capfd): print('x'); assert capfd.readouterr().out == 'x\n'
def test_b(): assert 1 == 2
def test_c(): assert threading.active_count() == 1
`,
			},
		},
		{
			name: "pytest with warnings as errors",
			argv: []string{
				"python3", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider",
				"test_t.py",
			},
			needs: []string{"pytest"}, rules: []rule{durations},
			files: map[string]string{
				"test_t.py": `import os, time
def test_fork():
  time.sleep(.1)
  pid = os.fork()
  if pid == 0: os._exit(0)
  os.wait()
def test_files(): assert len(os.listdir('/proc/self/fd')) < 20
`,
			},
		},
		{
			name: "doctest", argv: []string{"python3", "-m", "doctest", "d.py"},
			files: map[string]string{
				"d.py": `'''
>>> 1 + 1
2
>>> import sys; sys.gettrace()
>>> 3
4
'''
`,
			},
		},
		{name: "pip", argv: []string{"python3", "-m", "pip", "--version"}, needs: []string{"pip3"}},
		{
			name: "pip list", argv: []string{"python3", "-m", "pip", "list", "--format=freeze"},
			needs: []string{"pip3"}, env: []string{"PIP_DISABLE_PIP_VERSION_CHECK=1"},
		},
		{
			name: "a venv",
			sh: `python3 -m venv --without-pip v && v/bin/python -c 'import sys
print(sys.prefix != sys.base_prefix, sys.executable)
print([p for p in sys.path if "gpumem-" not in p])'
. v/bin/activate; python -c 'import os, sys; print(os.environ["VIRTUAL_ENV"], sys.argv)'; rm -r v`,
		},
		{
			name: "a venv with a sitecustomize",
			sh: `python3 -m venv --without-pip v; echo 'import sys
sys.mine = 1' >$(echo v/lib/python3.*/site-packages)/sitecustomize.py
v/bin/python -c 'import sys; print(sys.mine)'; v/bin/python -I -c 'import sys
print(sys.mine)'; rm -r v`,
		},
		{
			name:  "compileall and py_compile",
			sh:    `python3 -m compileall -q . && ls __pycache__ | wc -l; rm -r __pycache__`,
			files: map[string]string{"a.py": "x = 1\n"},
		},
		{
			name: "pdb", argv: []string{"python3", "-m", "pdb", "p.py"}, stdin: "n\np x\nc\nq\n",
			files: map[string]string{"p.py": "x = 5\nprint(x)\n"},
		},
		{
			name: "trace and cProfile as modules",
			sh: `python3 -m trace --count -C cover p.py; ls cover; rm -r cover
python3 -m cProfile -o prof p.py; rm prof`,
			files: map[string]string{"p.py": "print(5)\n"},
			rules: []rule{without("times of modules", `^stderr: `)},
		},
		{
			name: "timeit", argv: []string{"python3", "-m", "timeit", "-n", "5", "-r", "1", "pass"},
			rules: []rule{replace("the clock", `: .*`, ": TIME")},
		},
		{
			name: "a web server",
			outer: `acts send 15 run python3 -u -c 'import http.server as h
s = h.HTTPServer(("127.0.0.1", 0), h.SimpleHTTPRequestHandler)
print("ready"); s.serve_forever()'`,
		},
		{
			name: "python that is interrupted in a group",
			bash: `set -m
python3 -c 'import time; print("ready", flush=True); time.sleep(30)' >out &
while ! grep -qs ready out; do sleep .02; done
kill -INT -$!; wait $!; echo $?; rm out`,
			rules: signalNoise,
		},
	}
}

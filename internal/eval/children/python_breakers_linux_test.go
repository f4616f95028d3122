package children

// pythonBreakers are programs in Python that change or break what they run in, or depend on little things.
func pythonBreakers() []pythonProgram {
	return []pythonProgram{
		{
			name: "mocks the time",
			code: `
import time
from unittest import mock
clock = mock.patch('time.time', side_effect=[1, 2])
with mock.patch('time.monotonic', return_value=5), mock.patch('time.sleep'), clock:
  print(time.monotonic(), time.time()); time.sleep(100)
  import select; select.select([], [], [], .3)`,
		},
		{
			name: "breaks the time",
			code: `
import time, select
time.monotonic = time.time = time.sleep = time.monotonic_ns = None
select.select([], [], [], .5)
print('end')`,
		},
		{
			name: "breaks its builtins",
			code: `
import builtins, select
for n in ('len', 'range', 'open', 'min', 'max', 'sorted'): setattr(builtins, n, None)
select.select([], [], [], .4)
print('end')`,
		},
		{
			name: "breaks the standard library",
			code: `
import socket, select, os, threading, json
os.getpid = os.read = os.listdir = json.dumps = socket.socket = threading.Thread = None
select.select([], [], [], .4)
print('end')`,
		},
		{
			name: "empties its modules",
			code: `
import sys, select
for n in [n for n in sys.modules if n not in ('sys', 'builtins', 'select', '__main__')]: del sys.modules[n]
select.select([], [], [], .4)
print('end')`,
		},
		{
			name: "empties its path and finders",
			code: `
import sys
sys.path[:] = []; sys.path_hooks[:] = []; sys.path_importer_cache.clear(); sys.meta_path[:] = []
try: import json
except ImportError as e: print(e)`,
		},
		{
			name: "watches what is imported",
			code: `
import sys, select
seen = []
class Finder:
  def find_spec(self, name, path=None, target=None): seen.append(name)
sys.meta_path.insert(0, Finder())
select.select([], [], [], 1.5)
print(seen)`,
		},
		{
			name: "watches what is imported at its end",
			code: `
import sys, atexit
class Finder:
  def find_spec(self, name, path=None, target=None): print('import of', name)
sys.meta_path.insert(0, Finder())`,
		},
		{
			name: "reloads its modules",
			code: `
import importlib, threading, socket, json, os
for m in (threading, socket, json, os): importlib.reload(m)
print(threading.active_count())`,
		},
		{
			name: "empties its environment",
			code: `
import os, time, subprocess, sys
os.environ.clear(); time.sleep(.2)
print(subprocess.run([sys.executable, '-c', 'import os; print(sorted(os.environ))'], stdout=-1).stdout)`,
		},
		{
			name: "changes its streams",
			code: `
import sys, io, os
sys.stderr = None
sys.stdout = io.StringIO()
print('lost')
x = sys.stdout.getvalue()
sys.stdout = sys.__stdout__
print(repr(x))
os.close(2)`,
		},
		{
			name: "closes its streams",
			code: `
import sys
print('out', flush=True)
sys.stdout.close(); sys.stderr.close()`,
		},
		{
			name: "writes to a reader that is gone",
			code: `
import os, sys
r, w = os.pipe(); os.close(r)
try: os.write(w, b'x')
except BrokenPipeError as e: print(e)`,
		},
		{
			name: "warns",
			code: `
import warnings
warnings.warn('careful'); warnings.warn('old', DeprecationWarning)
f = open('/dev/null'); del f`,
		},
		{
			name: "logs",
			code: `
import logging
logging.basicConfig(format='%(threadName)s %(process)s' and '%(threadName)s %(message)s', level=10)
logging.debug('d'); logging.getLogger('x').error('e')`,
		},
		{
			name: "has hooks of exceptions",
			code: `
import sys, threading
sys.excepthook = lambda *a: print('hook', a[0].__name__)
threading.excepthook = lambda a: print('thread', a.exc_type.__name__)
sys.unraisablehook = lambda a: print('unraisable', a.exc_type.__name__)
t = threading.Thread(target=lambda: 1/0); t.start(); t.join()
1/0`,
		},
		{
			name: "looks at its frames",
			code: `
import sys, traceback, inspect
print(len(inspect.stack()), sys._getframe().f_back, sys._getframe(0).f_code.co_filename)
traceback.print_stack(file=sys.stdout)`,
		},
		{
			name: "looks at __main__",
			code: `
import sys
m = sys.modules['__main__']
print(sorted(vars(m)), m.__spec__, m.__loader__.__name__)`,
		},
		{
			name: "imports everything small",
			code: `
import json, re, csv, sqlite3, ssl, ctypes, decimal, hashlib, zlib, xml.dom.minidom
import email, http.client, logging.config, unittest, multiprocessing, asyncio, typing, dataclasses
print('imported')`,
		},
		{
			name: "imports what is not there",
			code: `
try: import torch_is_not_here
except ImportError as e: print(e, e.name)
import importlib.util; print(importlib.util.find_spec('no_such_module'))`,
		},
		{
			name: "serves and asks itself",
			code: `
import socket, threading
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
def f():
  c, _ = s.accept(); c.sendall(c.recv(9).upper()); c.close()
t = threading.Thread(target=f); t.start()
c = socket.create_connection(s.getsockname()); c.sendall(b'text'); print(c.recv(9)); t.join()`,
		},
		{
			name: "changes the way sockets wait",
			code: `
import socket, time
socket.setdefaulttimeout(.001); time.sleep(.3); print(socket.getdefaulttimeout())`,
		},
		{
			name: "changes its switch interval",
			code: `
import sys, time
sys.setswitchinterval(.5); time.sleep(.2); print(sys.getswitchinterval())`,
		},
		{
			name: "computes long",
			code: `
import time
end = time.monotonic() + .6
n = 0
while time.monotonic() < end: n += 1
print(n > 1000)`,
		},
		{
			name: "holds the interpreter's lock",
			code: `
import ctypes
ctypes.PyDLL(None).usleep(400000)
print('end')`,
		},
		{
			name: "has subinterpreters",
			code: `
import _xxsubinterpreters as s
i = s.create(); s.run_string(i, 'import sys; print(1, flush=True)'); s.destroy(i)
print('end')`,
		},
	}
}

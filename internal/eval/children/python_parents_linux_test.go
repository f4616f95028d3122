package children

// pythonParents are programs in Python that start processes and threads, and change their own.
func pythonParents() []pythonProgram {
	return []pythonProgram{
		{
			name: "forks",
			code: `
import os
pid = os.fork()
if pid == 0: os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`,
		},
		{
			name: "forks and ends in both",
			code: `
import os, sys, atexit
atexit.register(print, 'end')
pid = os.fork()
if pid: os.waitpid(pid, 0)
sys.exit(3)`,
		},
		{
			name: "has handlers of forks",
			code: `
import os
os.register_at_fork(before=lambda: print('before', flush=True),
  after_in_child=lambda: print('child', flush=True), after_in_parent=lambda: None)
pid = os.fork()
if pid == 0: os._exit(0)
os.wait()`,
		},
		{
			name: "forks with threads counted",
			code: `
import os, threading
pid = os.fork()
if pid == 0:
  print([t.name for t in threading.enumerate()], threading.active_count(), flush=True)
  os._exit(0)
os.wait()`,
		},
		{
			name: "forks a terminal",
			code: `
import pty, os
pid, fd = pty.fork()
if pid == 0: os.write(1, b'x'); os._exit(4)
print(os.read(fd, 9), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))`,
		},
		{
			name: "becomes another program",
			code: `
import os, sys
sys.stdout.write('before '); sys.stdout.flush()
os.execvp('look', ['look', 'fds', 'status'])`,
		},
		{
			name: "becomes Python again",
			code: `
import os, sys
if 'N' not in os.environ:
  os.environ['N'] = '1'
  os.execv(sys.executable, [sys.executable, '-c', 'print(2)'])`,
		},
		{
			name: "spawns",
			code: `
import os
pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'exit 4'], os.environ)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(os.spawnlp(os.P_WAIT, 'sh', 'sh', '-c', 'exit 5'), os.system('exit 6') >> 8)`,
		},
		{
			name: "unshares a user namespace",
			code: `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), ctypes.get_errno())`,
		},
		{
			name: "unshares a user namespace after a while",
			code: `
import ctypes, time
time.sleep(.3)
libc = ctypes.CDLL(None, use_errno=True)
print(libc.unshare(0x10000000), ctypes.get_errno())`,
		},
		{
			name: "enters a mount namespace",
			code: `
import ctypes, os, time
time.sleep(.3)
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open('/proc/self/ns/mnt', os.O_RDONLY)
print(libc.setns(fd, 0x00020000), ctypes.get_errno(), libc.unshare(0x00020000), ctypes.get_errno())`,
		},
		{
			name: "unshares in a child",
			code: `
import subprocess, ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(subprocess.run(['id', '-u'], preexec_fn=lambda: libc.unshare(0x10000000), stdout=-1).stdout)`,
		},
		{
			name: "gives up root",
			code: `
import os, subprocess
os.setgroups([]); os.setgid(65534); os.setuid(65534)
print(os.getresuid(), subprocess.run(['id', '-u'], stdout=subprocess.PIPE).stdout)`,
		},
		{
			name: "changes its root",
			code: `
import os
os.mkdir('jail'); os.chroot('jail'); os.chdir('/')
print(os.listdir('/'))`,
		},
		{
			name: "takes itself for a daemon",
			code: `
import os, sys, time
print('parent', flush=True)
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
while not os.path.exists('../status'): time.sleep(.02)
print('daemon', flush=True)
os.execvp('ls', ['ls', '-d', '/'])`,
		},
		{
			name: "closes all its descriptors",
			code: `
import os
os.closerange(3, 65536)
print(os.open('/dev/null', 0)); import subprocess
print(subprocess.run(['echo', 'x'], stdout=subprocess.PIPE).stdout)`,
		},
		{
			name: "opens descriptors",
			code: `
import os, socket
print([os.open('/dev/null', 0) for _ in range(3)], socket.socket().fileno(), os.pipe())`,
		},
		{
			name: "starts children",
			code: `
import subprocess as s
print(s.run(['sh', '-c', 'cat; echo err >&2; exit 3'], input=b'in', capture_output=True))
print(s.run('look fds', shell=True, close_fds=True, capture_output=True).stdout.decode())`,
		},
		{
			name: "starts children in sessions of their own",
			code: `
import subprocess as s, os
print(s.run(['look', 'ids'], start_new_session=True, stdout=-1).stdout.decode())
print(s.run(['look', 'ids'], preexec_fn=os.setpgrp, stdout=-1).stdout.decode())`,
		},
		{
			name: "starts children without close_fds",
			code: `
import subprocess as s
f = open('/dev/null')
print(s.run(['look', 'fds'], close_fds=False, stdout=-1).stdout.decode())
print(s.run(['look', 'fds'], pass_fds=[f.fileno()], stdout=-1).stdout.decode())`,
		},
		{
			name: "starts children with an environment of their own",
			code: `
import subprocess as s, sys
count = 'import os; print(len(os.environ))'
print(s.run([sys.executable, '-c', count], env={'LC_CTYPE': 'C.UTF-8'}, stdout=-1).stdout)
print(s.run(['look', 'env'], env={'A': '1'}, stdout=-1).stdout)`,
		},
		{
			name: "starts children that cannot be started",
			code: `
import subprocess as s
try: s.run(['/no/such'])
except OSError as e: print(e)
try: s.run(['/etc/passwd'])
except OSError as e: print(e)
try: s.run(['sleep', '9'], timeout=.1)
except s.TimeoutExpired as e: print(e.cmd)`,
		},
		{
			name: "leaves children behind",
			code: `
import subprocess as s
s.Popen(['sh', '-c', 'sleep .3; echo late'])
print('first')`,
		},
		{
			name: "has threads",
			code: `
import threading
print(threading.active_count(), threading.main_thread().name, threading.current_thread().name)
ts = [threading.Thread(target=print, args=(i,)) for i in range(5)]
for t in ts: t.start(); t.join()
print(ts[0].name, threading.get_native_id() == __import__('os').getpid())`,
		},
		{
			name: "leaves threads to its end",
			code: `
import threading, time
threading.Thread(target=lambda: (time.sleep(.1), print('late'))).start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print('main ends')`,
		},
		{
			name: "names its threads",
			code: `
import threading
t = threading.Thread(target=lambda: None)
print(t.name)
t2 = threading.Timer(.01, print, ('timer',)); t2.start(); t2.join(); print(t2.name)`,
		},
		{
			name: "has a pool of threads",
			code: `
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(4) as p: print(list(p.map(lambda x: x * x, range(9))))`,
		},
		{
			name: "has a pool of processes",
			code: `
from concurrent.futures import ProcessPoolExecutor
import multiprocessing as m
with ProcessPoolExecutor(2, mp_context=m.get_context('fork')) as p: print(list(p.map(abs, range(-4, 0))))`,
		},
		{
			name: "runs coroutines",
			code: `
import asyncio
async def f(n):
  await asyncio.sleep(.01); return n
async def main():
  print(await asyncio.gather(*map(f, range(4))))
  p = await asyncio.create_subprocess_shell('exit 3'); print(await p.wait())
  loop = asyncio.get_running_loop()
  print(type(loop).__name__, len(asyncio.all_tasks()), await loop.run_in_executor(None, abs, -1))
asyncio.run(main())`,
		},
		{
			name: "cancels a coroutine by a signal",
			code: `
import asyncio, os, signal
async def main():
  loop = asyncio.get_running_loop(); e = asyncio.Event()
  loop.add_signal_handler(10, e.set); os.kill(os.getpid(), 10); await e.wait(); print('set')
asyncio.run(main())`,
		},
	}
}

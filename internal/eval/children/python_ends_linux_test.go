package children

// pythonEnds are programs in Python that come to their end in all ways: by errors, exits and signals.
func pythonEnds() []pythonProgram {
	return []pythonProgram{
		{name: "prints", code: `print("hello")`},
		{name: "raises", code: `raise ValueError("wrong")`},
		{
			name: "raises in a chain",
			code: `
def f(): 1/0
try:
  f()
except ZeroDivisionError as e:
  raise RuntimeError('after') from e`,
		},
		{name: "raises a group", code: "raise ExceptionGroup('many', [ValueError(1), TypeError(2)])"},
		{
			name: "raises at its end",
			code: `
class A:
  def __del__(self): raise ValueError('in del')
a = A()
del a
print('on')`,
		},
		{
			name: "raises in a thread",
			code: `
import threading
t = threading.Thread(target=lambda: 1/0, name='mine')
t.start(); t.join(); print('on')`,
		},
		{
			name: "recurses too deep",
			code: `
def f(n): return f(n+1)
try:
  f(0)
except RecursionError as e: print(e)`,
		},
		{
			name: "counts how deep it may go",
			code: `
import sys
def f(n):
  try: return f(n+1)
  except RecursionError: return n
print(f(0))`,
		},
		{
			name: "handles exits in order",
			code: `
import atexit
atexit.register(print, 'first registered')
atexit.register(print, 'last registered')
import threading
threading._register_atexit(print, 'threads')
print('body')`,
		},
		{
			name: "fails at its exit",
			code: `
import atexit
atexit.register(lambda: 1/0)
print('body')`,
		},
		{
			name: "leaves by os._exit",
			code: `
import os
print('lost')
os._exit(9)`,
		},
		{
			name: "kills itself",
			code: `
import os, signal
print('before', flush=True)
os.kill(os.getpid(), signal.SIGKILL)`,
		},
		{
			name: "terminates itself",
			code: `
import os, signal
os.kill(os.getpid(), signal.SIGTERM)`,
		},
		{
			name: "interrupts itself",
			code: `
import os, signal
os.kill(os.getpid(), signal.SIGINT)
import time; time.sleep(5)`,
		},
		{
			name: "aborts",
			code: `
import os
os.abort()`,
		},
		{
			name: "faults",
			code: `
import ctypes
ctypes.string_at(0)`,
		},
		{
			name: "faults with its fault handler",
			code: `
import ctypes, faulthandler
faulthandler.enable()
ctypes.string_at(0)`,
			differs: []difference{
				differs("the agent's loop is a thread of the program",
					`^\+stderr: (Thread |$|  File "\S+/gpumem/python-|  <no Python frame>)`),
			},
		},
		{
			name: "dumps its threads",
			code: `
import faulthandler, sys
faulthandler.dump_traceback(sys.stdout, all_threads=False)
faulthandler.dump_traceback_later(60); faulthandler.cancel_dump_traceback_later()`,
		},
		{
			name: "dumps all its threads",
			code: `
import faulthandler, sys
faulthandler.dump_traceback(sys.stdout)`,
			differs: []difference{
				differs("the agent's loop is a thread of the program",
					`^\+stdout: (Thread |$|  File "\S+/gpumem/python-|  <no Python frame>)`),
			},
		},
		{
			name: "handles signals",
			code: `
import os, signal
for n in (1, 2, 3, 10, 12, 13, 14, 15, 17, 23, 28):
  signal.signal(n, lambda n, f: print('got', n))
  os.kill(os.getpid(), n)
print(signal.getsignal(2) is signal.default_int_handler)`,
		},
		{
			name: "waits for signals",
			code: `
import signal, os
signal.pthread_sigmask(signal.SIG_BLOCK, [10])
os.kill(os.getpid(), 10)
print(signal.sigpending(), signal.sigwait([10]))
print(signal.sigtimedwait([12], .01))`,
		},
		{
			name: "is woken by a signal",
			code: `
import signal, socket, os
a, b = socket.socketpair(); b.setblocking(False)
print(signal.set_wakeup_fd(b.fileno()))
signal.signal(10, lambda *a: None)
os.kill(os.getpid(), 10)
print(a.recv(9))`,
		},
		{
			name: "has alarms",
			code: `
import signal, time
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(1))
signal.setitimer(signal.ITIMER_REAL, .01)
time.sleep(.1)
print(hits)
signal.signal(signal.SIGPROF, lambda *a: hits.append(2))
signal.setitimer(signal.ITIMER_PROF, .01)
while len(hits) < 2: pass
print(hits)`,
		},
	}
}

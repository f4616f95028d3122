package children

// pythonWatchers are programs in Python that watch themselves: memory, lines, calls,
// events, the collector and limits.
func pythonWatchers() []pythonProgram {
	return []pythonProgram{
		{
			name: "traces memory",
			code: `
import tracemalloc
tracemalloc.start()
x = bytearray(1 << 20)
s = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, '<string>')])
print(tracemalloc.is_tracing(), s.statistics('lineno')[0].size > 1 << 20)
tracemalloc.stop()`,
		},
		{
			name: "traces its lines",
			code: `
import sys
lines = []
def t(f, e, a):
  lines.append((f.f_code.co_filename, e, f.f_code.co_name)); return t
def g(): return 1
sys.settrace(t); g(); sys.settrace(None)
print(lines)`,
		},
		{
			name: "profiles its calls",
			code: `
import sys
calls = []
def p(f, e, a): calls.append((e, f.f_code.co_name))
def g(): return len([])
sys.setprofile(p); g(); sys.setprofile(None)
print(calls)
import cProfile, io, pstats
c = cProfile.Profile(); c.runcall(g); print(sorted(k[2] for k in pstats.Stats(c).stats))`,
		},
		{
			name: "traces the lines of its threads",
			code: `
import sys, threading, time
seen = set()
def t(f, e, a): seen.add(f.f_code.co_filename); return t
threading.settrace(t); sys.settrace(t)
time.sleep(.3)
x = threading.Thread(target=lambda: None); x.start(); x.join()
sys.settrace(None)
print([s for s in sorted(seen) if 'gpumem' in s])`,
		},
		{
			name: "listens to its audit events",
			code: `
import sys, time
events = []
sys.addaudithook(lambda e, a: events.append(e))
open('/dev/null').close()
time.sleep(.3)
n = list(events)
print(n)`,
		},
		{
			name: "forbids audit events",
			code: `
import sys, time
def hook(e, a):
  if e in ('socket.connect', 'os.listdir', 'subprocess.Popen', 'ctypes.dlopen'):
    raise RuntimeError('forbidden ' + e)
sys.addaudithook(hook)
time.sleep(.3)
print('end')`,
		},
		{
			name: "keeps the collector off",
			code: `
import gc, time
gc.disable()
gc.collect()
a = gc.get_count(); time.sleep(.3); b = gc.get_count()
print(gc.isenabled(), gc.get_stats()[2]['collections'] >= 1, b[1:] == a[1:])`,
		},
		{
			name: "counts its objects",
			code: `
import gc, time
gc.collect(); gc.disable()
a = len(gc.get_objects()); time.sleep(.4); b = len(gc.get_objects())
print(b - a)`,
		},
		{
			name: "freezes the collector",
			code: `
import gc
gc.freeze(); print(gc.get_freeze_count() > 0); gc.unfreeze(); print(gc.get_freeze_count())
gc.set_debug(gc.DEBUG_STATS); gc.set_debug(0)`,
		},
		{
			name: "saves all garbage",
			code: `
import gc, time
gc.set_debug(gc.DEBUG_SAVEALL)
gc.collect(); gc.garbage.clear(); time.sleep(.3); gc.collect()
print([type(o).__name__ for o in gc.garbage][:5])
gc.set_debug(0)`,
		},
		{
			name: "watches its collector",
			code: `
import gc, time
seen = []
gc.callbacks.append(lambda phase, info: seen.append(phase))
time.sleep(.3)
print(seen, len(gc.callbacks))`,
		},
		{
			name: "pickles its environment",
			code: `
import os, pickle
d = pickle.loads(pickle.dumps(dict(os.environ)))
ours = ('LD_PRELOAD', 'PYTHONPATH', 'ASAN_OPTIONS')
print(d == dict(os.environ), sorted(k for k in d if 'GPUMEM' not in k and k not in ours))`,
		},
		{
			name: "has resource limits",
			code: `
import resource as r, subprocess
r.setrlimit(r.RLIMIT_NOFILE, (16, 16))
r.setrlimit(r.RLIMIT_FSIZE, (100, 100))
r.setrlimit(r.RLIMIT_CORE, (0, 0))
try: open('big', 'wb', 0).write(b'x' * 1000); open('big', 'ab', 0).write(b'x')
except OSError as e: print(e)
print(subprocess.run(['ls', '-d', '/'], stdout=-1, stderr=-1))`,
		},
		{
			name: "has a limit of memory",
			code: `
import resource as r
r.setrlimit(r.RLIMIT_AS, (1 << 30, 1 << 30))
try: bytearray(2 << 30)
except MemoryError: print('refused')
print(len(bytearray(100 << 20)))`,
		},
		{
			name: "has a limit of processes",
			code: `
import resource as r, os, threading
os.setgid(65534); os.setuid(65534)
r.setrlimit(r.RLIMIT_NPROC, (0, 0))
try: os.fork()
except OSError as e: print(e)
try: threading.Thread(target=print).start()
except RuntimeError as e: print(e)`,
		},
		{
			name: "runs out of descriptors",
			code: `
import os
fds = []
try:
  import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
  while True: fds.append(os.open('/dev/null', 0))
except OSError as e: print(e, len(fds))`,
		},
	}
}

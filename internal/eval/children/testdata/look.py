"""Prints what a Python program can see of its interpreter, a line each,
without what differs between any two runs. Arguments choose sections."""
import sys

STARTED = sorted(sys.modules)
PATHS = list(sys.path)


def modules():
    for name in STARTED:
        print("module", name)


def paths():
    for entry in PATHS:
        print("path", entry)
    for finder in sys.meta_path:
        print("finder", getattr(finder, "__name__", type(finder).__name__))
    for hook in sys.path_hooks:
        print("hook", getattr(hook, "__qualname__", hook))
    for name in sorted(sys.path_importer_cache):
        print("cached", name)


def settings():
    import site
    import time

    print("flags", sys.flags)
    print("options", sys._xoptions, sys.warnoptions)
    print("arguments", sys.argv, getattr(sys, "orig_argv", ""))
    print("executable", sys.executable, sys.prefix, sys.exec_prefix, sys.base_prefix)
    print("bytecode", sys.dont_write_bytecode, getattr(sys, "pycache_prefix", ""))
    print("user site", site.ENABLE_USER_SITE)
    print("recursion", sys.getrecursionlimit(), "switch", sys.getswitchinterval())
    print("digits", getattr(sys, "get_int_max_str_digits", lambda: "")())
    print("encodings", sys.getdefaultencoding(), sys.getfilesystemencoding())
    for name in ("stdin", "stdout", "stderr"):
        s = getattr(sys, name)
        print(name, type(s).__name__, s.encoding, s.errors, s.line_buffering)
        print(name, "is the first", s is getattr(sys, "__%s__" % name))
    print("clock", [getattr(time, n).__module__ for n in ("time", "monotonic", "sleep", "perf_counter")])


def hooks():
    import atexit
    import builtins
    import gc
    import signal
    import threading
    import warnings

    for name in ("excepthook", "displayhook", "breakpointhook", "unraisablehook"):
        print(name, getattr(sys, name, None) is getattr(sys, "__%s__" % name, None))
    hook = getattr(threading, "excepthook", None)
    print("thread's excepthook", hook is getattr(threading, "__excepthook__", None))
    print("trace", sys.gettrace(), "profile", sys.getprofile())
    for name in ("_trace_hook", "_profile_hook"):
        print("threads'", name, getattr(threading, name, None))
    if hasattr(sys, "monitoring"):
        print("monitoring", [sys.monitoring.get_tool(i) for i in range(6)])
    print("generators", sys.get_asyncgen_hooks())
    print("at exit", atexit._ncallbacks())
    print("collector", gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks)
    print("frozen", getattr(gc, "get_freeze_count", int)(), "garbage", len(gc.garbage))
    print("wake-up descriptor", signal.set_wakeup_fd(-1))
    for number in sorted(signal.valid_signals() if hasattr(signal, "valid_signals") else range(1, 65)):
        try:
            print("signal", int(number), signal.getsignal(number))
        except ValueError:
            pass
    print("blocked", sorted(int(n) for n in signal.pthread_sigmask(signal.SIG_BLOCK, [])))
    for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        print("timer", which, signal.getitimer(which))
    for line in warnings.filters:
        print("warnings", line)
    print("builtins", sorted(vars(builtins)))
    print("import", builtins.__import__.__module__, builtins.open.__module__)


def threads():
    import os
    import threading

    print("threads", [(t.name, t.daemon) for t in threading.enumerate()])
    print("counted", threading.active_count(), getattr(sys.modules["_thread"], "_count")())
    print("frames", len(sys._current_frames()))
    print("tasks", len(os.listdir("/proc/self/task")))


def objects():
    import gc

    gc.collect()
    kinds = {}
    for o in gc.get_objects():
        module = getattr(type(o), "__module__", "")
        if isinstance(module, str) and "gpumem" in module:
            kinds[type(o).__qualname__] = kinds.get(type(o).__qualname__, 0) + 1
    for name in sorted(kinds):
        print("object of gpumem's", name)


def files():
    import os

    for fd in range(256):
        try:
            target = os.readlink("/proc/self/fd/%d" % fd)
        except OSError:
            continue
        print("descriptor", fd, target.split(":[")[0], os.get_inheritable(fd))


def debugging():
    import faulthandler

    print("faulthandler", faulthandler.is_enabled())
    try:
        import tracemalloc

        print("tracemalloc", tracemalloc.is_tracing(), tracemalloc.get_traceback_limit())
    except ImportError:
        pass
    print("debug", getattr(sys, "gettotalrefcount", None), __debug__)
    loggers = sys.modules.get("logging")
    print("logging", loggers and len(loggers.root.handlers))


def environment():
    import os

    for name in sorted(os.environ):
        print("environment %s=%s" % (name, os.environ[name]))


SECTIONS = (settings, hooks, threads, files, debugging, modules, paths, objects, environment)
wanted = sys.argv[1:] or [s.__name__ for s in SECTIONS if s not in (modules, objects, environment)]
for section in SECTIONS:
    if section.__name__ in wanted:
        section()

"""The agent in a program that ran before it came: how it comes in, and how it leaves.

What it puts into the program it takes out again when the tracer says so, and when
the tracer has gone: hooks of frameworks, wrapped functions, the finder, its thread,
its modules. What cannot go out is told, by name. Handlers of forks cannot: the
interpreter has no way to unregister them. So three that do nothing stay, and a later
agent finds them again under a name in sys. PyTorch's observer of out-of-memory errors
is treated likewise.
"""

import os
import sys
import _thread

import gpumem_agent
from gpumem_agent import atomic
from gpumem_agent.own import own
from gpumem_agent.sampling import STOP_SECONDS, signals_blocked

FORKS = "_gpumem_forks"  # in sys: a list of one, the handlers in force or None
LEFT_MOST = 20  # modules of the standard library that are told by name
UNSEEN = (
    "its Python is free-threaded (no GIL): who holds memory is not looked for while it runs;"
    " start it under gpumem run"
)
SWEEP_SECONDS = 5.0  # to wait for the end of our thread, before its modules are emptied

# Handlers that keep nothing of ours alive but the list: made without our names.
HANDLERS = """
def make(box):
    def before():
        if box[0] is not None:
            box[0][0]()
    def parent():
        if box[0] is not None:
            box[0][1]()
    def child():
        if box[0] is not None:
            box[0][2]()
    return before, parent, child
"""

# What a framework never lets go of, likewise. It tells of no error of its own: what it
# raises might take another's place.
FORWARD = """
def make(box):
    def forward(*arguments):
        function = box[0]
        if function is not None:
            try:
                function(*arguments)
            except BaseException:
                pass
    return forward
"""

# The end, likewise: it waits for the thread that left, and empties the modules, so
# that what refers to what in them does not wait for the program's collector.
SWEEP = """
def sweep(task, stat, sleep, clear, tries):
    try:
        is_gone = False
        while tries > 0:
            try:
                is_gone = is_gone or not stat(task)
            except OSError:
                is_gone = True
            if is_gone and clear():
                break
            sleep(0.005)
            tries -= 1
    except BaseException:
        pass
"""


def enter(path, settings, finder, libraries, withdraw, clear):
    """Starts the agent of this process. withdraw takes the modules out, clear empties
    them; libraries are the names of the modules that were there."""
    from gpumem_agent.process import Process
    from gpumem_agent.window import Window

    gpumem_agent._finder = finder
    process = Process(path, settings["interval"], settings["settle"], True, settings["sites"])
    process.late = late = Late(process, libraries, withdraw, clear)
    late.only_looks = settings["look"]
    if settings["profile"]:
        process.profile = settings["profile"]
        process.window = Window(process.profile)
    with late.beginning:
        late.at_fork(*process.forks.handlers())
        try:
            if not process.dial():
                raise OSError("its socket cannot be reached from there")
            gpumem_agent._agent = process
            process.begin()
            if not atomic.POSSIBLE:
                process.mark("warning", UNSEEN)
        except BaseException:
            late.leave()
            raise


class Late:
    """What a process that was entered has to give back."""

    def __init__(self, process, libraries, withdraw, clear):
        self._process = process
        self._libraries = libraries
        self._withdraw = withdraw
        self._clear = clear
        self._handlers = None
        self._undo = []  # functions that take something out
        self.only_looks = False  # once, so that no hook is needed
        self.beginning = own.allocate_lock()  # held until the agent has begun

    def wait(self):
        """Waits for the end of the beginning: a fork in its midst would leave a child
        with half an agent."""
        if self.beginning.acquire(timeout=STOP_SECONDS):
            self.beginning.release()

    def keep(self, thing):
        """Keeps something alive for good, as the handlers of forks are kept."""
        box = getattr(sys, FORKS, None)
        if box is not None:
            del box[1:]
            box.append(thing)

    def on_leave(self, undo):
        """Has undo called when the agent leaves."""
        self._undo.append(undo)

    def at_fork(self, before, parent, child):
        """Registers handlers of forks, once for all agents that ever come."""
        box = getattr(sys, FORKS, None)
        if box is None:
            scope = {}
            exec(HANDLERS, scope)
            box = [None]
            first, second, third = scope["make"](box)
            os.register_at_fork(before=first, after_in_parent=second, after_in_child=third)
            setattr(sys, FORKS, box)
        box[0] = self._handlers = (before, parent, child)

    def forward(self, name, register, function):
        """Has function called by what register(callable) never lets go of, until the
        agent leaves. One callable is registered for all agents that ever come: they
        find it again under a name in sys."""
        box = getattr(sys, name, None)
        if box is None:
            scope, box = {}, [None]
            exec(FORWARD, scope)
            register(scope["make"](box))
            setattr(sys, name, box)
        box[0] = function

        def undo():
            if box[0] is function:
                box[0] = None

        self.on_leave(undo)

    def leave(self):
        """Takes everything out. Returns in words what stays."""
        process, stays = self._process, []
        box = getattr(sys, FORKS, None)
        if box is not None and box[0] is self._handlers:
            box[0] = None
        with process.quiet():
            process.window.close(process)
        for framework in () if self.only_looks else process.frameworks:
            with process.quiet():
                stays.extend(framework.disarm())
        for undo in reversed(self._undo):
            with process.quiet():
                undo()
        stays.extend(self._libraries_left())
        gpumem_agent._agent = None
        self._withdraw()
        return stays

    def _libraries_left(self):
        """Modules that came in with the agent or since, of the interpreter's own."""
        names = set(sys.modules) - self._libraries
        mine = sorted(n for n in names if n.partition(".")[0] in LIBRARIES)
        if not mine:
            return []
        return ["modules of the standard library: " + ", ".join(mine[:LEFT_MOST])]

    def sweep(self):
        """Has the modules emptied once the thread that calls this has ended."""
        scope = {}
        exec(SWEEP, scope)
        task = "/proc/self/task/%d" % _native_id()
        arguments = (task, own.stat, own.sleep, self._clear, int(SWEEP_SECONDS / 0.005))
        with signals_blocked():
            own.start_new_thread(scope["sweep"], arguments)


def _native_id():
    return _thread.get_native_id() if hasattr(_thread, "get_native_id") else 0


# Modules of the interpreter that the agent imports and a program may lack.
LIBRARIES = frozenset(
    "array atexit binascii bisect _bisect collections _collections _compression contextlib ctypes _ctypes dis"
    " fcntl functools gc gzip heapq _heapq itertools json math opcode _opcode operator _operator re resource _socket"
    " struct _struct threading traceback types weakref zlib".split()
)

"""Which module of a model memory belongs to: paths such as transformer.h.3.mlp.

A parameter, its gradient and its state have the path of the module that owns the
parameter. An activation has that of the innermost module whose forward pass ran when
it was allocated: as long as a window is open, two hooks of PyTorch's for all modules
note the time at which each forward pass begins and ends. Nothing stays afterwards."""

import sys
import threading
import time
import weakref

from gpumem_agent.own import own

MODULES = 5000  # that have a path; more are not told
CALLS = 40000  # of a window, beginnings and ends; then no more are noted
TEXT = 200  # bytes of a path
LOOKS = 64  # modules between two looks at the clock
END, UNKNOWN = -1, -2  # in the place of a module's number
COMPILED = "torch.compile"  # why the calls are not noted


class Paths:
    """The modules that live now, by number, and the parameters that they own."""

    def __init__(self, modules, deadline):
        self.names = []
        self.by_module = {}  # number by identity, with a weak reference
        self.by_parameter = {}  # the same of parameters and buffers
        self._training = []  # by number: whether it was in training mode
        self.root = None  # the number of the only module with others in it that is in none
        self._shared = set()  # identities of those that several modules have
        self.complete = True
        self._deadline = deadline
        below = {id(m) for parent in modules for m in _children(parent).values()}
        roots = [m for m in modules if id(m) not in below and not _is_replica(m)]
        large = [m for m in roots if _children(m)]
        names = {}
        for root in roots:
            name = type(root).__name__
            names[name] = names.get(name, 0) + 1
            if names[name] > 1:
                name = "%s %d" % (name, names[name])
            self._walk(root, name, name + "." if len(large) > 1 else "")
        if len(large) == 1 and id(large[0]) in self.by_module:
            self.root = self.by_module[id(large[0])][1]

    def _walk(self, root, name, prefix):
        waiting = [(root, name, prefix)]
        while waiting:
            module, path, prefix = waiting.pop()
            if id(module) in self.by_module:
                continue  # it has two names: the first counts
            if len(self.names) >= MODULES or self._is_late():
                self.complete = False
                return
            number = len(self.names)
            self.names.append(path[-TEXT:])
            self.by_module[id(module)] = (weakref.ref(module), number)
            mine = vars(module)
            self._training.append(mine.get("training") is True)
            for kind in ("_parameters", "_buffers"):
                for tensor in list((mine.get(kind) or {}).values()):
                    if tensor is None:
                        continue
                    if id(tensor) in self.by_parameter:
                        self._shared.add(id(tensor))
                    self.by_parameter.setdefault(id(tensor), (weakref.ref(tensor), number))
            inner = _children(module)
            for key in reversed(list(inner)):  # the first is taken first
                below = prefix if key == "_orig_mod" else prefix + key + "."
                waiting.append((inner[key], below[:-1] or path, below))

    def _is_late(self):
        return len(self.names) % LOOKS == LOOKS - 1 and own.monotonic() > self._deadline

    def of_module(self, module):
        """Its number, or UNKNOWN."""
        return _number(self.by_module, module, UNKNOWN)

    def is_training(self, number):
        """Whether a module was in training mode."""
        return self._training[number]

    def of_tensor(self, tensor):
        """The number of the module that owns a parameter or a buffer, or None."""
        return _number(self.by_parameter, tensor, None)

    def of_tensor_alone(self, tensor):
        """The same; None also where several modules have it."""
        return None if id(tensor) in self._shared else self.of_tensor(tensor)

    def references(self):
        """Weak references to the parameters and buffers."""
        return [reference for reference, _ in self.by_parameter.values()]

    def of_reference(self, reference):
        """The same of a weak reference to one, or of None."""
        tensor = reference() if reference is not None else None
        return None if tensor is None else self.of_tensor(tensor)


def _number(known, item, otherwise):
    found = known.get(id(item))
    return found[1] if found is not None and found[0]() is item else otherwise


def _children(module):
    """Its modules by name. The program's own methods are not asked."""
    inner = vars(module).get("_modules") or {}
    return {key: m for key, m in list(inner.items()) if m is not None}


def _is_replica(module):
    return bool(vars(module).get("_is_replica"))


class Calls:
    """When forward passes began and ended, while a window is open."""

    def __init__(self, torch):
        self._torch = torch
        self._handles = []
        self._threads = {}
        self._numbers = {}  # of modules in the order in which they came, by identity
        self._modules = []  # weak references to them
        self._events = []  # time of day in microseconds; a module's number, or END; a thread
        # A compiler that met the hooks would put them into the program's code.
        stats = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {}).get("stats")
        self.off = COMPILED if stats and stats.get("unique_graphs") else ""

    def begin(self):
        module = getattr(getattr(self._torch.nn, "modules", None), "module", None)
        before = getattr(module, "register_module_forward_pre_hook", None)
        after = getattr(module, "register_module_forward_hook", None)
        if before is not None and after is not None and not self.off:
            self._handles = [before(self._enter), after(self._leave)]

    def end(self):
        """Takes the hooks out. It may be called twice."""
        handles, self._handles = self._handles, []
        for handle in handles:
            handle.remove()

    def _enter(self, module, arguments):
        number = self._numbers.get(id(module), UNKNOWN)
        if number == UNKNOWN or self._modules[number]() is not module:
            number = self._numbers[id(module)] = len(self._modules)
            self._modules.append(weakref.ref(module))
        self._note(number)

    def _leave(self, module, arguments, output):
        self._note(END)

    def _note(self, number):
        if len(self._events) < CALLS:
            thread = self._threads.setdefault(threading.get_ident(), len(self._threads))
            self._events.append((time.time_ns() // 1000, number, thread))

    def told(self, paths, origin):
        """The calls with numbers of paths, at times since an origin."""
        numbers = {END: END}
        for number, reference in enumerate(self._modules):
            module = reference()
            numbers[number] = UNKNOWN if module is None else paths.of_module(module)
        return [(when - origin, numbers[number], thread) for when, number, thread in self._events]


def told(rows, names, most=200):
    """Rows for an event, {(number or None, category): bytes}: what modules own. Paths
    are cut until there are few enough rows, without a byte less."""
    depth = max((n.count(".") + 1 for n in names), default=1)
    while True:
        sums = {}
        for (number, category), size in rows.items():
            if number is not None:
                key = ".".join(names[number].split(".")[:depth]), category
                sums[key] = sums.get(key, 0) + size
        if len(sums) <= most or depth <= 1:
            break
        depth -= 1
    ordered = sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:most]
    return [{"module": m, "category": c, "bytes": size} for (m, c), size in ordered]

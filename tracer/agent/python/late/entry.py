"""Runs in a program that runs already, on a thread of its own, and brings the agent
in. Nothing of it stays when the agent has left.

It is executed with four names: PATH of the tracer's socket, SETTINGS for
gpumem_agent.late.enter, SOURCES, a dictionary of the agent's files, and BEFORE, the
names of the modules that were there. It has no module: nobody can import it, and its names go with its last function.
"""

import sys
import _thread

ROOT = "/<gpumem>/lib/"  # no folder: where the agent's code says it comes from
PACKAGE = "gpumem_agent"
CLAIM = "_gpumem_entry_%d"  # in sys, by process: who is coming in, or is in


class Finder:
    """Finds the agent's modules among the sources."""

    def __init__(self, sources):
        from _frozen_importlib import ModuleSpec

        self._spec = ModuleSpec
        self._files = {}
        for file, source in sources.items():
            name = file[: -len(".py")].replace("/", ".")
            name, _, last = name.rpartition(".") if name.endswith(".__init__") else (name, "", "")
            self._files[name] = file, source, bool(last)
        self.modules = []

    def find_spec(self, name, path=None, target=None):
        found = self._files.get(name)
        if found is None:
            return None
        file, _, is_package = found
        spec = self._spec(name, self, origin=ROOT + file, is_package=is_package)
        if is_package:
            spec.submodule_search_locations.append(ROOT + file[: -len("/__init__.py")])
        spec.has_location = True
        return spec

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        file, source, _ = self._files[module.__name__]
        self.modules.append(module)
        exec(compile(source, ROOT + file, "exec", 0, True), vars(module))


def refuse(why):
    """Tells the tracer why the agent does not come in."""
    import os
    import _socket

    plain = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        plain.settimeout(2.0)
        plain.connect(PATH)
        text = "".join(c if " " <= c <= "~" and c not in '"\\' else "?" for c in why[:500])
        line = '{"hello":{"v":1,"pid":%d,"agent":"python","refused":"%s"}}\n' % (os.getpid(), text)
        plain.sendall(line.encode("ascii"))
    finally:
        plain.close()


def strip(kind):
    """Takes the functions out of a class, which would live until the collector comes:
    a class is part of a cycle of its own."""
    for name, value in list(vars(kind).items()):
        if hasattr(value, "__code__") or type(value) in (property, classmethod, staticmethod):
            type.__delattr__(kind, name)


def present():
    """The agent that is in the program already, or None."""
    package = sys.modules.get(PACKAGE)
    ask = getattr(package, "agent", None)
    return ask() if ask is not None else None


def claim():
    """Claims the process for this agent: of two that come at the same moment, one. Returns
    what gives it back, or None where another has it."""
    import os

    name, mine = CLAIM % os.getpid(), object()
    if vars(sys).setdefault(name, mine) is not mine:
        return None

    def release():
        if vars(sys).get(name) is mine:
            del vars(sys)[name]

    return release


def enter(release):
    """Puts the agent's modules in and starts it. It is released when it is out again."""
    finder = Finder(SOURCES)
    names = [n for n in sys.modules if n == PACKAGE or n.startswith(PACKAGE + ".")]
    before = {name: sys.modules.pop(name) for name in names}
    sys.meta_path.insert(0, finder)

    def withdraw():
        """Takes the modules out again, and puts back what was in their place."""
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        for module in finder.modules:
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
        sys.modules.update(before)
        old = before.get(PACKAGE)
        if old is not None:
            old._agent = None
        release()

    def clear():
        """Empties the modules if no code of theirs runs any more, and says whether."""
        running = threads.teller()()
        if not running:
            return False  # nobody can tell
        for frame in running.values():
            while frame is not None:
                if frame.f_code.co_filename.startswith(ROOT):
                    return False
                frame = frame.f_back
        for module in finder.modules:
            for kind in [k for k in vars(module).values() if type(k) is type]:
                if kind.__module__ == module.__name__:
                    strip(kind)
            vars(module).clear()
        del finder.modules[:]
        return True

    try:
        from gpumem_agent import late, threads

        late.enter(PATH, SETTINGS, finder, BEFORE, withdraw, clear)
        old = before.get(PACKAGE)
        if old is not None:  # what the program imported from it asks it for the agent
            old._agent = sys.modules[PACKAGE].agent()
    except BaseException:
        withdraw()
        raise


def main():
    try:
        release = claim() if present() is None else None
        if release is None:
            refuse("gpumem is in it already: it was started under gpumem, or another gpumem is attached")
            return
        enter(release)
    except BaseException as error:
        try:
            refuse("the agent could not start there: %s: %s" % (type(error).__name__, error))
        except BaseException:
            pass  # the tracer has gone, too


main()

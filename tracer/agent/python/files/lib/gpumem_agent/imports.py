"""Notices frameworks, and some modules more, when the program imports them, and only then.

A finder at the head of sys.meta_path looks at seven names. For these it asks
the other finders for the module and lets the loader they name tell us once,
by an attribute on the loader's instance that removes itself: the loader, the
spec and the module stay what they would be without us.
"""

import sys
import _frozen_importlib as importlib
import _frozen_importlib_external as external

# Module to wait for, and the file below frameworks that knows it.
FRAMEWORKS = {"torch": "torch", "jax": "jax", "cupy": "cupy", "mlx.core": "mlx"}
CTYPES = "ctypes"  # see alone.py
BIRTHS = ("subprocess", "multiprocessing.process")  # see births.py
NAMES = frozenset(FRAMEWORKS) | {CTYPES} | frozenset(BIRTHS)


class Watch:
    """The finder. seen is called with a name after that module's body ran."""

    def __init__(self, seen):
        self._seen = seen
        self._busy = set()

    def install(self):
        sys.meta_path.insert(0, self)

    def remove(self):
        """Modules that are being imported will tell nobody."""
        self._seen = bool
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name, path=None, target=None):
        if name not in NAMES or name in self._busy:
            return None
        self._busy.add(name)
        try:
            spec = self._ask_others(name, path, target)
        finally:
            self._busy.discard(name)
        if spec is not None and spec.loader is not None:
            self._listen(name, spec.loader)
        return spec

    def _ask_others(self, name, path, target):
        for finder in list(sys.meta_path):
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None

    def _listen(self, name, loader):
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module):
            try:
                del loader.exec_module
            except AttributeError:
                pass
            original(module)
            self._seen(name)

        try:
            loader.exec_module = exec_module
        except (AttributeError, TypeError):
            pass  # a loader written in C: loaded() finds the module later


def loaded(name):
    """The module of that name when the program has imported it fully."""
    module = sys.modules.get(name)
    if module is None:
        return None
    spec = getattr(module, "__spec__", None)
    if getattr(spec, "_initializing", False):
        return None
    return module


def _finders():
    """Those that bring uses; of an agent that came late also that of its own files."""
    late = getattr(sys.modules.get("gpumem_agent"), "_finder", None)
    return (importlib.BuiltinImporter, external.PathFinder) + ((late,) if late else ())


def bring(name):
    """A module of the agent's, or one of the interpreter's that is written in C,
    imported past the program's finders: what the agent needs is none of theirs.
    Raises ImportError where there is none."""
    package = name.rpartition(".")[0]
    path = sys.modules[package].__path__ if package else None
    with importlib._ModuleLockManager(name):
        module = loaded(name)
        if module is not None:
            return module
        for finder in _finders():
            spec = finder.find_spec(name, path)
            if spec is not None:
                return importlib._load_unlocked(spec)
    raise ImportError(name)

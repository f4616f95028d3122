"""Starts the gpumem agent in a traced interpreter, then the user's own
sitecustomize, if there is one further down the path.

This file must parse on every Python ever (a traced program may start an old
one), import next to nothing, and never let the agent's trouble out. Errors of
the user's sitecustomize, on the other hand, come out as without us.
"""

import os
import sys


def _start(here):
    if sys.version_info < (3, 8) or not os.environ.get("GPUMEM_AGENT") or not _is_first():
        return
    lib = os.path.join(here, "lib")
    if lib not in sys.path:
        sys.path.append(lib)  # the end: we never hide a module of the program
    # The folder is ours, so what is compiled for it is kept there, even if the
    # program's modules are to be kept elsewhere or not at all.
    unwanted, elsewhere = sys.dont_write_bytecode, sys.pycache_prefix
    sys.dont_write_bytecode, sys.pycache_prefix = False, None
    try:
        import gpumem_agent

        gpumem_agent.start()
    except KeyboardInterrupt:
        raise
    except BaseException:
        pass  # a broken agent is no agent; the tracer sees that none connected
    finally:
        sys.dont_write_bytecode, sys.pycache_prefix = unwanted, elsewhere


def _is_first():
    """Whether this is the process's first interpreter. From 3.12 on others may have memory
    and a lock of their own: an agent there would end the process, and the first tells of
    the process as a whole."""
    import _thread

    return getattr(_thread, "_is_main_interpreter", lambda: True)()


def _leave(here):
    """Takes the folder of this file off the path; returns what came behind it.

    Folders of other agents (gpumem that runs gpumem) are left out: the innermost
    tracer's agent is first on the path, and the only one to run."""
    folders = [os.path.abspath(p or os.curdir) for p in sys.path]
    if here not in folders:
        return sys.path
    at = folders.index(here)
    del sys.path[at]
    agents = os.path.join("lib", "gpumem_agent")
    return [p for p in sys.path[at:] if not os.path.isdir(os.path.join(p, agents))]


def _chain(path):
    """Runs the sitecustomize that this one hides, under its own name."""
    if sys.version_info < (3, 5):
        _chain_old(path)
        return
    # The import system itself, without the folder of modules around it.
    from _frozen_importlib import module_from_spec
    from _frozen_importlib_external import PathFinder

    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _chain_old(path):
    import imp

    try:
        found = imp.find_module("sitecustomize", path)
    except ImportError:
        return
    try:
        imp.load_module("sitecustomize", *found)
    finally:
        if found[0]:
            found[0].close()


_here = os.path.dirname(os.path.abspath(__file__))
_start(_here)
try:
    _chain(_leave(_here))
finally:
    # The user's takes this module's place. Functions and their module would be a
    # cycle, which a program that looks at its garbage would find.
    del _start, _is_first, _leave, _chain, _chain_old

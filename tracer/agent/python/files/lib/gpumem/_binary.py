"""The program gpumem that belongs to this package, and the agent's modules."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

NAME = "gpumem.exe" if sys.platform == "win32" else "gpumem"
VARIABLE = "GPUMEM_BINARY"


class NotFound(FileNotFoundError):
    """There is no program gpumem here."""


def find() -> str:
    """The program's path: what GPUMEM_BINARY names, else the one that was installed
    with this package, else the first on the PATH. Raises NotFound."""
    named = os.environ.get(VARIABLE)
    if named:
        if not os.path.isfile(named):
            raise NotFound("%s names %s, which is not there" % (VARIABLE, named))
        return named
    other = ""
    for folder in _folders():
        path = os.path.join(folder, NAME)
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            continue
        if not _is_script(path):
            return path
        other = other or path
    if other:
        raise NotFound(
            "%s is the command of another tool, the Python package gpumem: "
            "pip install --force-reinstall gpumem-profiler brings this one back" % other
        )
    raise NotFound(
        "no program gpumem was found: the wheel of gpumem-profiler brings it, "
        "and %s names one that lies elsewhere" % VARIABLE
    )


def _folders() -> Iterator[str]:
    """Where installers put programs, the folders of this package first."""
    import sysconfig

    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    scripts = sysconfig.get_path("scripts")
    purelib = sysconfig.get_path("purelib")
    if os.path.realpath(here) == os.path.realpath(purelib):
        yield scripts
    yield os.path.join(here, "bin")  # pip install --target
    # lib/python3.11/site-packages of another prefix: pip install --user or --prefix
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    yield os.path.join(prefix, "Scripts" if sys.platform == "win32" else "bin")
    yield scripts
    yield from filter(None, os.environ.get("PATH", "").split(os.pathsep))


def _is_script(path: str) -> bool:
    """Whether it is text: the command of the other tool of this name is."""
    with open(path, "rb") as f:
        return f.read(2) == b"#!"


def agent_modules() -> None:
    """Makes gpumem_agent importable where no tracer has: from beside this package
    as `gpumem run` installs it, or from inside it as the wheel does."""
    if "gpumem_agent" in sys.modules:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in (os.path.dirname(here), os.path.join(here, "_lib")):
        if os.path.isdir(os.path.join(folder, "gpumem_agent")):
            if folder not in sys.path:
                sys.path.append(folder)  # the end: we never hide a module of the program
            return

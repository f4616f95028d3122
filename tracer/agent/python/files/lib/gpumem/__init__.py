"""What a program may tell gpumem, and ask of it.

    import gpumem

    for batch in data:
        train(batch)
        gpumem.step()

step, mark, phase, scope, baseline and released speak to the tracer that
`gpumem run` put beside the program. Where there is none they do nothing, in less
than a microsecond, so they may stay in the program. gpumem.baseline() before and
gpumem.released() after a stretch of work that should leave nothing behind make
the tracer judge what it left.

watch and check look at this process by themselves, with a tracer or without:

    with gpumem.watch() as w:
        train()
    print(w.verdict, w.answer)

    @gpumem.check
    def handle(request): ...
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # what type checkers take for true; typing itself is dear to import
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any, Callable, TypeVar

    from gpumem._check import LeakError as LeakError
    from gpumem._check import check as check
    from gpumem._watch import Watch as Watch
    from gpumem._watch import watch as watch

    Function = TypeVar("Function", bound=Callable[..., Any])

__all__ = [
    "LeakError",
    "Watch",
    "baseline",
    "check",
    "mark",
    "phase",
    "released",
    "scope",
    "step",
    "watch",
]

# Loaded when they are first asked for: a program that only marks its steps pays
# for nothing else.
_LATER = {"watch": "_watch", "Watch": "_watch", "check": "_check", "LeakError": "_check"}

_watches: tuple[Watch, ...] = ()  # those that are under way


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError("module 'gpumem' has no attribute %r" % name)
    found = getattr(__import__("gpumem." + _LATER[name], fromlist=(name,)), name)
    globals()[name] = found
    return found


def _agent() -> Any:
    """The agent that a tracer started in this process, or None."""
    module = sys.modules.get("gpumem_agent")
    return None if module is None else module.agent()


def step(number: int | None = None) -> None:
    """One step of the program's work is done. Without a number it counts."""
    agent = _agent()
    if agent is not None:
        agent.step(number)
    for watch in _watches:
        watch._step(number)


def mark(name: str, kind: str = "event") -> None:
    """Notes a moment under a name, with the caller's place in the source."""
    agent = _agent()
    if agent is not None or _watches:
        _mark(agent, kind, str(name), sys._getframe(1))


def phase(name: str) -> None:
    """A phase begins: baseline, released, or a word of the program's own."""
    agent = _agent()
    if agent is not None:
        agent.phase(str(name))
    for watch in _watches:
        watch._note("phase", str(name), "")


def baseline() -> None:
    """From here on, what is kept counts."""
    phase("baseline")


def released() -> None:
    """The program has given up everything since baseline()."""
    phase("released")


class scope:
    """Notes the beginning and the end of a stretch of the program: with
    gpumem.scope("eval"): …, or @gpumem.scope("eval") before a function."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> scope:
        agent = _agent()
        if agent is not None or _watches:
            _mark(agent, "scope", "begin " + str(self._name), sys._getframe(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        agent = _agent()
        if agent is not None or _watches:
            _mark(agent, "scope", "end " + str(self._name), sys._getframe(1))

    def __call__(self, function: Function) -> Function:
        import functools

        @functools.wraps(function)
        def scoped(*args: Any, **keywords: Any) -> Any:
            with self:
                return function(*args, **keywords)

        return scoped  # type: ignore[return-value]


def _mark(agent: Any, kind: str, name: str, frame: FrameType) -> None:
    at = "%s:%d:1" % (frame.f_code.co_filename, frame.f_lineno)
    if agent is not None:
        agent.mark(kind, name, at=at)
    for watch in _watches:
        watch._note(kind, name, at)


def load_ipython_extension(shell: Any) -> None:
    """%load_ext gpumem: the magics %gpumem and %%gpumem."""
    from gpumem import _notebook

    _notebook.load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """%unload_ext gpumem takes them away again."""
    from gpumem import _notebook

    _notebook.unload(shell)

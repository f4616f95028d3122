"""@gpumem.check: a function that must not keep memory.

The first call that keeps more than the tolerance may be first-time work: caches,
contexts, imports. So a call is an error only when enough calls before it, one
after the other, kept more as well. What the function returns is its caller's, and
does not count.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import warnings
from typing import Any, Callable, TypeVar, overload

from gpumem._memory import SURVIVORS, Kept, Memory, size

Function = TypeVar("Function", bound=Callable[..., Any])


class LeakError(AssertionError):
    """A function that must not keep memory kept some. kept_bytes is what its last
    call kept, survivors are the lines that name who holds it."""

    def __init__(self, sentence: str, kept_bytes: int, survivors: list[str]) -> None:
        super().__init__(sentence)
        self.kept_bytes = kept_bytes
        self.survivors = survivors


@overload
def check(function: Function) -> Function: ...


@overload
def check(
    *, tolerance: int | str = ..., confirm: int = ..., warmup: int = ...
) -> Callable[[Function], Function]: ...


def check(
    function: Any = None,
    *,
    tolerance: int | str = "1MiB",
    confirm: int = 1,
    warmup: int = 0,
) -> Any:
    """A decorator for a function that must not keep memory. It raises LeakError
    when confirm + 1 calls in a row, after the first warmup calls, have each kept
    more than the tolerance.

    Each call collects garbage, gives idle memory back and waits for the device,
    before and after: some ten milliseconds. Calls inside of another checked call
    and calls of other threads meanwhile are not checked. GPUMEM_CHECK=0 in the
    environment leaves functions as they are."""
    if function is None:
        return functools.partial(check, tolerance=tolerance, confirm=confirm, warmup=warmup)
    if not callable(function):
        raise TypeError("gpumem.check takes a function, not %r" % (function,))
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(
            "gpumem.check takes a function that ends when it returns; %s is a generator"
            % function.__qualname__
        )
    checker = _Checker(_name(function), size(tolerance), confirm, warmup)
    if os.environ.get("GPUMEM_CHECK") == "0":
        return function
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def checked_later(*args: Any, **keywords: Any) -> Any:
            with _Call(checker) as call:
                call.result = await function(*args, **keywords)
            return call.result

        return checked_later

    @functools.wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        with _Call(checker) as call:
            call.result = function(*args, **keywords)
        return call.result

    return checked


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


_busy = threading.Lock()  # one call is checked at a time: others would be in its figures


class _Call:
    """One call, which is checked unless another one is being checked."""

    def __init__(self, checker: _Checker) -> None:
        self._checker = checker
        self._is_checked = False
        self.result: Any = None  # what it returned: its caller's, so it does not count

    def __enter__(self) -> _Call:
        if _busy.acquire(blocking=False):
            try:
                self._checker.begin()
            except BaseException:
                _busy.release()
                raise
            self._is_checked = True
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if not self._is_checked:
            return
        try:
            # The traceback of an error holds the function's variables.
            if kind is None:
                self._checker.judge(self.result)
        finally:
            _busy.release()


class _Checker:
    """The calls of one function."""

    def __init__(self, name: str, tolerance: int, confirm: int, warmup: int) -> None:
        self._name = name
        self._tolerance = tolerance
        self._confirm = confirm
        self._warmup = warmup
        self._memory: Memory | None = None
        self._found: list[Kept] = []

    def begin(self) -> None:
        if self._memory is None:
            self._memory = Memory()
            if self._memory.heap_bytes() is None and not self._memory.active():
                warnings.warn(
                    "gpumem.check cannot tell what %s keeps: nothing here tells the bytes of the "
                    "heap, and no device is in use" % self._name,
                    RuntimeWarning,
                    stacklevel=4,
                )
        if self._found:
            self._memory.note()
        self._before = self._memory.settle()

    def judge(self, result: object) -> None:
        if self._warmup > 0:
            self._warmup -= 1
            return
        memory = self._memory
        assert memory is not None
        returned = memory.reachable(result)
        kept = None
        if returned is not None:
            kept = memory.settle().kept_since(self._before, self._tolerance + returned)
        if kept is None:
            self._found = []
            return
        kept.live -= returned or 0
        self._found.append(kept)
        if len(self._found) <= self._confirm:
            return
        found, self._found = self._found, []
        survivors = memory.survivors()[:SURVIVORS] if self._confirm else []
        raise LeakError(self._sentence(found, survivors), kept.live, survivors)

    def _sentence(self, found: list[Kept], survivors: list[str]) -> str:
        text = "%s keeps memory" % self._name
        if len(found) > 1:
            text += ", %d calls in a row" % len(found)
        text += ": %s" % found[-1]
        if survivors:
            text += "; kept: " + ", ".join(survivors)
        return text

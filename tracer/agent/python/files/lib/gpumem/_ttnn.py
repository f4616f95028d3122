"""What remains on Tenstorrent devices, by the books of an allocation server.

ttnn tells each allocation to `gpumem serve` when TT_ALLOC_TRACKING_ENABLED is 1.
A program cache keeps buffers on purpose, and Python's garbage keeps tensors by
accident, so both are emptied before the books are read. Frees are on their way for
a while, so the reading waits.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import time

from gpumem import _binary
from gpumem._memory import human

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

SOCKET = "/tmp/tt_allocation_server.sock"
DUMP_SECONDS = 30.0  # for the dump, which is long where many buffers remain
FIXTURES = ("device", "mesh_device", "devices", "all_devices", "t3k_mesh_device", "pcie_devices")


class Unavailable(RuntimeError):
    """The books cannot be read; the text says why and what to try."""


class Remaining:
    """The buffers of this process that are on the books at one moment."""

    def __init__(self, count: int, size: int) -> None:
        self.count = count
        self.bytes = size

    def __str__(self) -> str:
        return "%d (%s)" % (self.count, human(self.bytes))


class Books:
    """The server's books, for one process and the devices it uses."""

    def __init__(self, devices: object, socket: str = SOCKET, wait: float = 1.0) -> None:
        """Raises Unavailable where allocations are not tracked or nobody serves."""
        if os.environ.get("TT_ALLOC_TRACKING_ENABLED") != "1":
            raise Unavailable(
                "ttnn does not report its allocations: set TT_ALLOC_TRACKING_ENABLED=1 before the tests start"
            )
        self._devices = list(_each(devices))
        self._socket = socket
        self._wait = wait
        self._dump()

    def settle(self) -> Remaining:
        """What remains after what is kept on purpose is gone. Raises Unavailable."""
        gc.collect()
        for device in self._devices:
            device.disable_and_clear_program_cache()
        gc.collect()
        time.sleep(self._wait)
        mine = [b for b in self._dump()["buffers"] if b["space"] == "buffer" and b["pid"] == os.getpid()]
        return Remaining(len(mine), sum(b["size"] for b in mine))

    def _dump(self) -> dict[str, Any]:
        try:
            command = [_binary.find(), "dump", "--json", "--socket", self._socket]
            done = subprocess.run(command, capture_output=True, timeout=DUMP_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(str(error)) from None
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise Unavailable(said or "gpumem dump ended with %d" % done.returncode)
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _each(devices: object) -> Iterator[Any]:
    """The devices of a fixture's value: one, or a list or dictionary of them."""
    if isinstance(devices, dict):
        devices = list(devices.values())
    if isinstance(devices, (list, tuple)):
        for device in devices:
            yield from _each(device)
    elif hasattr(devices, "disable_and_clear_program_cache"):
        yield devices


def growth(before: Remaining, after: Iterable[Remaining]) -> str:
    """A sentence when every run left more than the one before it, else nothing: what
    stays the same from run to run is kept on purpose."""
    runs = list(after)
    last = before
    for remaining in runs:
        if remaining.count <= last.count and remaining.bytes <= last.bytes:
            return ""
        last = remaining
    return "buffers remain on the device, more after each of %d runs: %s" % (
        len(runs),
        ", ".join(str(r) for r in runs),
    )

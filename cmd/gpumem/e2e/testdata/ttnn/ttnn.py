"""A stub of ttnn: no device, but tensors and a program cache whose buffers are told to
the allocation server as ttnn tells its own."""

import itertools
import os
import socket
import struct
import time

ALLOCATE, FREE = 1, 2
DRAM = 0
MESSAGE = "<B3xiQB3xiQQ4Q"

_numbers = itertools.count(1)


class Device:
    def __init__(self, path):
        self._server = None  # a tracked device goes on without a server
        if path:
            self._server = socket.socket(socket.AF_UNIX)
            self._server.connect(path)
        self._programs = []
        self.is_caching = True

    def tell(self, kind, number, size):
        when = time.time_ns() if kind == ALLOCATE else 0
        fields = (kind, 0, size, DRAM, os.getpid(), number, when, 0, 0, 0, 0)
        if self._server is not None:
            self._server.sendall(struct.pack(MESSAGE, *fields))

    def run(self, tensor):
        """Runs a program, which the cache keeps with a buffer of its own."""
        if self.is_caching:
            self._programs.append(Tensor(self, 4096))

    def disable_and_clear_program_cache(self):
        self.is_caching = False
        self._programs.clear()

    def enable_program_cache(self):
        self.is_caching = True


class Tensor:
    def __init__(self, device, size):
        self._device, self._number, self._size = device, next(_numbers), size
        device.tell(ALLOCATE, self._number, size)

    def __del__(self):
        self._device.tell(FREE, self._number, 0)


def open_device(device_id=0):
    return Device(os.environ["TT_STUB_SOCKET"])


def close_device(device):
    if device._server is not None:
        device._server.close()
        device._server = None


def zeros(size, device):
    return Tensor(device, size)

"""Plate store of a chart room.

Sea charts are engraved on plates, one for every colour. The engraver renders soundings and coast into a plate buffer
that it takes from the CUDA runtime itself, since the plotter reads it by its bare address. As the notices to mariners
come in, plates are engraved anew.

ticket: practice
class: none
"""

import ctypes
import glob
import os
import random
import time

import torch

torch.set_num_threads(1)
torch.manual_seed(61)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROWS, COLUMNS = 512, 1024
PLATE_BYTES = ROWS * COLUMNS * 4
COLOURS = ("black", "blue", "buff", "magenta", "green")
ROUNDS_A_SECOND = 4
TO_DEVICE = 3  # between two places on the device


class CudaMemory:
    """Raw device memory by the runtime that torch has loaded."""

    def __init__(self):
        torch.zeros(1, device=DEVICE)
        with open("/proc/self/maps") as maps:
            paths = {line.split()[-1] for line in maps if "libcudart" in line}
        if not paths:
            beside = os.path.dirname(os.path.dirname(torch.__file__))
            paths = set(glob.glob(f"{beside}/nvidia/*/lib/libcudart.so.*"))
        self.runtime = ctypes.CDLL(sorted(paths)[0])
        self.runtime.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
        self.runtime.cudaFree.argtypes = [ctypes.c_void_p]
        self.runtime.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def take(self, size):
        address = ctypes.c_void_p()
        if self.runtime.cudaMalloc(ctypes.byref(address), size):
            raise MemoryError(size)
        return address.value

    def give(self, address):
        self.runtime.cudaFree(address)

    def copy(self, target, source, size):
        torch.cuda.synchronize()
        self.runtime.cudaMemcpy(target, source, size, TO_DEVICE)


class HostMemory:
    """The same by the C library, for a desk without a device."""

    def __init__(self):
        self.libc = ctypes.CDLL(None)
        self.libc.malloc.restype = ctypes.c_void_p
        self.libc.malloc.argtypes = [ctypes.c_size_t]
        self.libc.free.argtypes = [ctypes.c_void_p]

    def take(self, size):
        return self.libc.malloc(size)

    def give(self, address):
        self.libc.free(address)

    def copy(self, target, source, size):
        ctypes.memmove(target, source, size)


class Engraver:
    """Renders soundings and coast for one colour."""

    def __init__(self):
        self.depth = torch.rand(ROWS, COLUMNS, device=DEVICE) * 60.0
        self.coast = (torch.rand(ROWS, COLUMNS, device=DEVICE) > 0.8).float()

    def notice(self, rng):
        row, column = rng.randrange(ROWS - 32), rng.randrange(COLUMNS - 32)
        self.depth[row:row + 32, column:column + 32] += rng.uniform(-1.5, 1.5)

    def render(self, colour):
        tone = 0.2 * (1 + COLOURS.index(colour))
        return torch.sigmoid((self.depth - 60.0 * tone) / 5.0) * (1.0 - self.coast)


class PlateStore:
    """The current plate of each colour, by address."""

    def __init__(self, memory, engraver):
        self.memory = memory
        self.engraver = engraver
        self.plates = {colour: memory.take(PLATE_BYTES) for colour in COLOURS}
        self.engraved = 0

    def engrave(self, colour):
        """Put a new plate in the place of the old one."""
        drawing = self.engraver.render(colour)
        plate = self.memory.take(PLATE_BYTES)
        self.memory.copy(plate, drawing.data_ptr(), PLATE_BYTES)
        self.memory.give(self.plates[colour])
        self.plates[colour] = plate
        self.engraved += 1
        return float(drawing.mean())


def main():
    rng = random.Random(9)
    store = PlateStore(CudaMemory() if DEVICE == "cuda" else HostMemory(), Engraver())
    started = time.monotonic()
    reported = started
    while time.monotonic() - started < SECONDS:
        begun = time.monotonic()
        store.engraver.notice(rng)
        colour = COLOURS[store.engraved % len(COLOURS)]
        ink = store.engrave(colour)
        if begun - reported > 3.0:
            reported = begun
            print(f"{store.engraved} plates engraved, {colour} takes ink {ink:.3f}", flush=True)
        time.sleep(max(0.0, 1.0 / ROUNDS_A_SECOND - (time.monotonic() - begun)))
    print(f"press stops: {store.engraved} plates", flush=True)


if __name__ == "__main__":
    main()

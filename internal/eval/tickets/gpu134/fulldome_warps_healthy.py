"""Warp meshes of the six projectors of a planetarium dome.

Dome and projectors move with the warmth of the day, so that the alignment camera asks for a new warp mesh of one
projector several times a second. The mesh is computed with torch; the projector drivers read it from a buffer of
the CUDA runtime, which they address by its pointer. After each upload a part of the buffer is read back and
compared.

ticket: practice
class: none
"""
import ctypes
import os
import time
from pathlib import Path

import torch

torch.set_num_threads(1)
torch.manual_seed(360)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
UPLOADS_PER_SECOND = 4
PROJECTORS = 6
MESH = 512
CHECKED = 4096
DEVICE_TO_DEVICE = 3


def find_cudart():
    """The runtime that came with torch, beside it or in the nvidia packages."""
    site = Path(torch.__file__).parent.parent
    for pattern in ("nvidia/**/libcudart.so*", "torch/lib/libcudart*.so*"):
        for path in sorted(site.glob(pattern)):
            return str(path)
    return f"libcudart.so.{(torch.version.cuda or '12').split('.')[0]}"


def check(code):
    if code != 0:
        raise RuntimeError(f"CUDA runtime error {code}")


class CudaRuntime:
    """The three calls of the runtime that the drivers need."""

    def __init__(self):
        self.lib = ctypes.CDLL(find_cudart())
        self.lib.cudaMalloc.argtypes = [ctypes.POINTER(ctypes.c_void_p), ctypes.c_size_t]
        self.lib.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self.lib.cudaFree.argtypes = [ctypes.c_void_p]

    def malloc(self, nbytes):
        address = ctypes.c_void_p()
        check(self.lib.cudaMalloc(ctypes.byref(address), nbytes))
        return address.value

    def copy(self, target, source, nbytes):
        check(self.lib.cudaMemcpy(target, source, nbytes, DEVICE_TO_DEVICE))

    def free(self, address):
        check(self.lib.cudaFree(address))


class HostRuntime:
    """The same calls on the host, for a dome without a graphics card."""

    def __init__(self):
        libc = ctypes.CDLL(None)
        self.malloc, self.copy, self.free = libc.malloc, ctypes.memmove, libc.free
        self.malloc.restype = ctypes.c_void_p
        self.malloc.argtypes = [ctypes.c_size_t]
        self.free.argtypes = [ctypes.c_void_p]


class Projector:
    """One projector with the buffer from which its driver reads the mesh."""

    def __init__(self, number, runtime):
        self.number = number
        self.runtime = runtime
        self.address = None
        self.nbytes = 0
        self.probe = torch.zeros(CHECKED, device=DEVICE)

    def upload(self, mesh):
        nbytes = mesh.numel() * mesh.element_size()
        fresh = self.runtime.malloc(nbytes)
        self.runtime.copy(fresh, mesh.data_ptr(), nbytes)
        if self.address is not None:
            self.runtime.free(self.address)
        self.address, self.nbytes = fresh, nbytes

    def verify(self, mesh):
        self.runtime.copy(self.probe.data_ptr(), self.address, CHECKED * 4)
        return bool(torch.equal(self.probe, mesh.view(-1)[:CHECKED]))


class Aligner:
    """Computes the mesh of a projector from its place on the ring and the sag of the dome."""

    def __init__(self):
        axis = torch.linspace(-1.0, 1.0, MESH, device=DEVICE)
        self.v, self.u = torch.meshgrid(axis, axis, indexing="ij")
        self.radius = (self.u.square() + self.v.square()).sqrt()

    def mesh(self, number, moment):
        turn = torch.tensor(2.0 * torch.pi * number / PROJECTORS, device=DEVICE)
        sag = 0.003 * torch.sin(torch.tensor(moment * 0.3 + number, device=DEVICE))
        bend = 1.0 + sag * self.radius.square()
        x = (self.u * torch.cos(turn) - self.v * torch.sin(turn)) * bend
        y = (self.u * torch.sin(turn) + self.v * torch.cos(turn)) * bend
        return torch.stack([x, y], dim=-1).contiguous()


def main():
    aligner = Aligner()
    runtime = CudaRuntime() if DEVICE == "cuda" else HostRuntime()
    ring = [Projector(number, runtime) for number in range(PROJECTORS)]
    started = time.monotonic()
    due = started
    uploads, refused = 0, 0
    while time.monotonic() - started < SECONDS:
        projector = ring[uploads % PROJECTORS]
        mesh = aligner.mesh(projector.number, uploads / UPLOADS_PER_SECOND)
        projector.upload(mesh)
        refused += not projector.verify(mesh)
        uploads += 1
        if uploads % (3 * UPLOADS_PER_SECOND) == 0:
            print(f"{uploads} meshes uploaded, {refused} refused", flush=True)
        due += 1.0 / UPLOADS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    for projector in ring:
        if projector.address is not None:
            runtime.free(projector.address)
    print(f"dome aligned with {uploads} meshes, {refused} refused", flush=True)


if __name__ == "__main__":
    main()

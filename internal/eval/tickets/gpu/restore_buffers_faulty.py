"""A node that restores faces allocates the buffers of its engine with cudaMalloc for every picture and
forgets the ones of the picture before.

ticket: yuvraj108c/ComfyUI-Facerestore-Tensorrt#6
class: driver-growth
cause: -
"""

import ctypes
import os
import random
import time

import torch

torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
END = time.time() + float(os.environ.get("SECONDS", "40"))

if device == "cuda":
    lib = next(line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line)
    cudart = ctypes.CDLL(lib)
    free, copy = cudart.cudaFree, lambda to, of, size: cudart.cudaMemcpy(to, of, ctypes.c_size_t(size), 3)
else:
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    free, copy = libc.free, ctypes.memmove


def malloc(size):
    if device == "cpu":
        return ctypes.c_void_p(libc.malloc(ctypes.c_size_t(size)))
    pointer = ctypes.c_void_p()
    assert cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0  # grows
    return pointer


class Engine:
    def __init__(self):
        self.buffers = {}

    def allocate_buffers(self, size):
        self.buffers = {"input": malloc(size), "output": malloc(size)}

    def infer(self, face):
        size = face.numel() * face.element_size()
        self.allocate_buffers(size)
        copy(self.buffers["input"], ctypes.c_void_p(face.data_ptr()), size)
        copy(self.buffers["output"], self.buffers["input"], size)
        return torch.sigmoid(face).mean().item()


engine = Engine()
while time.time() < END:
    for _ in range(random.choice([1, 1, 2, 4])):
        engine.infer(torch.randn(3, random.choice([384, 512, 640]), 512, device=device))
    time.sleep(random.uniform(1.5, 4.0))

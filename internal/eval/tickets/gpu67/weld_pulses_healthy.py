"""Receiver for the weld current recorder. A frame is a 16-byte header and 1 Mi samples of 12 bit; it goes into a raw
device buffer as the recorder's DMA will do it later, the CRC is checked, and the card works out the ripple of the
current. Frames with a bad CRC are counted and dropped.

ticket: practice
class: none
"""

import ctypes
import os
import random
import struct
import time
import zlib

import numpy as np
import torch

HEADER = struct.Struct("<IIQ")  # sequence, payload length, crc32
SAMPLES = 1 << 20
FRAME_PERIOD_S = 0.06
BAD_LINE = 0.2

torch.set_num_threads(1)
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
torch.zeros(1, device=DEVICE)  # brings the context up

if CUDA:
    DRIVER = ctypes.CDLL("libcuda.so.1")
else:
    LIBC = ctypes.CDLL(None)
    LIBC.malloc.restype, LIBC.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    LIBC.free.restype, LIBC.free.argtypes = None, [ctypes.c_void_p]


def check(status):
    if status != 0:
        raise RuntimeError(f"driver status {status}")


def buf_alloc(size):
    if not CUDA:
        return LIBC.malloc(size)
    pointer = ctypes.c_uint64(0)
    check(DRIVER.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer.value


def buf_write(pointer, data):
    if CUDA:
        check(DRIVER.cuMemcpyHtoD_v2(ctypes.c_uint64(pointer), ctypes.c_char_p(data), ctypes.c_size_t(len(data))))
    else:
        ctypes.memmove(pointer, data, len(data))


def buf_free(pointer):
    if CUDA:
        check(DRIVER.cuMemFree_v2(ctypes.c_uint64(pointer)))
    else:
        LIBC.free(pointer)


class Samples:
    def __init__(self, pointer, count):
        interface = {"shape": (count,), "typestr": "<i2", "data": (pointer, False), "strides": None, "version": 3}
        setattr(self, "__cuda_array_interface__" if CUDA else "__array_interface__", interface)


def ripple(pointer, count):
    samples = Samples(pointer, count)
    current = torch.as_tensor(samples, device=DEVICE) if CUDA else torch.from_numpy(np.asarray(samples))
    blocks = current.float().view(-1, 1024)
    return (blocks - blocks.mean(dim=1, keepdim=True)).pow(2).mean().sqrt().item()


def recorder():
    """The far end of the line: yields frames, some of them damaged."""
    payload = torch.randint(1800, 2300, (SAMPLES,), dtype=torch.int16).numpy().tobytes()
    crc, sequence = zlib.crc32(payload), 0
    while True:
        sequence += 1
        bad = random.random() < BAD_LINE
        yield HEADER.pack(sequence, len(payload), crc ^ 0x10 if bad else crc), payload


def main():
    good = crc_errors = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for header, payload in recorder():
        if time.time() >= end:
            break
        sequence, length, crc = HEADER.unpack(header)
        pointer = buf_alloc(length)
        buf_write(pointer, payload)
        if zlib.crc32(payload) != crc:
            buf_free(pointer)
            crc_errors += 1
            continue
        value = ripple(pointer, length // 2)
        buf_free(pointer)
        good += 1
        if good % 50 == 0:
            print(f"seq {sequence}: ripple {value:.1f} LSB, {good} good, {crc_errors} crc errors", flush=True)
        time.sleep(FRAME_PERIOD_S)


if __name__ == "__main__":
    main()

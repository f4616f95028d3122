"""Watch the burners of a restaurant's grill with a thermal camera.

The camera looks down on a grill of twelve zones. Its frames are written to a block on the device that the
driver is asked for by its own interface, for the camera's library takes plain addresses only; torch sees the same
block as a tensor. Every few frames the camera closes its shutter, measures its own warmth and goes on with another
gain, for which it is given a block of its own. The frames are smoothed, and for each zone the mean and the hottest
point are worked out; a zone that is too hot for its dish is told to the cook.

ticket: practice
class: none
"""
import ctypes
import os
import time

import numpy as np
import torch
from torch.nn import functional as F

FRAMES = 64
HEIGHT, WIDTH = 240, 320
ROWS, COLUMNS = 3, 4
FRAMES_PER_GAIN = 16


class Rig:
    """Addresses for the camera's library: from the driver on a GPU, from the C library without one."""

    def __init__(self, device):
        self.device = device
        if device.type == "cuda":
            torch.zeros(1, device=device).item()
            self.library = ctypes.CDLL("libcuda.so.1")
            self.library.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
            self.library.cuMemFree_v2.argtypes = [ctypes.c_uint64]
        else:
            self.library = ctypes.CDLL(None)
            self.library.calloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
            self.library.calloc.restype = ctypes.c_void_p
            self.library.free.argtypes = [ctypes.c_void_p]

    def obtain(self, count):
        if self.device.type != "cuda":
            return self.library.calloc(count, 1)
        address = ctypes.c_uint64()
        code = self.library.cuMemAlloc_v2(ctypes.byref(address), count)
        if code:
            raise RuntimeError(f"the driver answered {code}")
        return address.value

    def give_up(self, address):
        if self.device.type != "cuda":
            self.library.free(address)
            return
        torch.cuda.synchronize()
        code = self.library.cuMemFree_v2(address)
        if code:
            raise RuntimeError(f"the driver answered {code}")


class Block:
    """One block of frames, by its address."""

    def __init__(self, rig, shape):
        self.rig = rig
        self.shape = shape
        self.address = rig.obtain(4 * int(np.prod(shape)))

    @property
    def __cuda_array_interface__(self):
        return {"shape": self.shape, "typestr": "<f4", "data": (self.address, False), "strides": None, "version": 3}

    def tensor(self):
        if self.rig.device.type == "cuda":
            return torch.as_tensor(self, device=self.rig.device)
        flat = (ctypes.c_float * int(np.prod(self.shape))).from_address(self.address)
        return torch.from_numpy(np.frombuffer(flat, dtype=np.float32).reshape(self.shape))

    def close(self):
        self.rig.give_up(self.address)


class Camera:
    def __init__(self, rig):
        self.rig = rig
        self.gain = 1.0
        self.block = Block(rig, (FRAMES, HEIGHT, WIDTH))
        self.frames = self.block.tensor()
        self.frames.fill_(20.0)
        self.flames = 60 + 200 * torch.rand(1, 1, ROWS, COLUMNS, device=rig.device)

    def shutter(self):
        """Go on with another gain and a block that belongs to it."""
        self.gain = 0.8 + 0.4 * torch.rand(1).item()
        self.frames = None
        self.block.close()
        self.block = Block(self.rig, (FRAMES, HEIGHT, WIDTH))
        self.frames = self.block.tensor()
        self.frames.fill_(20.0)

    def shoot(self, number):
        self.flames.add_(6 * torch.randn_like(self.flames)).clamp_(40, 320)
        scene = F.interpolate(self.flames, size=(HEIGHT, WIDTH), mode="bilinear", align_corners=False)
        frame = self.frames[number % FRAMES]
        frame.copy_(scene[0, 0] * self.gain + 2 * torch.randn_like(frame))
        return frame

    def stop(self):
        self.frames = None
        self.block.close()


def main():
    until = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    camera = Camera(Rig(device))
    smooth = torch.ones(1, 1, 5, 5, device=device) / 25
    number = 0
    warned = 0
    with torch.no_grad():
        while time.time() < until:
            frame = camera.shoot(number) / camera.gain
            calm = F.conv2d(frame[None, None], smooth, padding=2)
            means = F.adaptive_avg_pool2d(calm, (ROWS, COLUMNS))
            peaks = F.adaptive_max_pool2d(calm, (ROWS, COLUMNS))
            warned += int((peaks > 300).sum().item())
            number += 1
            if number % FRAMES_PER_GAIN == 0:
                camera.shutter()
            if number % 80 == 0:
                print(f"frame {number}: mean {means.mean().item():.0f} degrees, hottest {peaks.max().item():.0f}, "
                      f"{warned} warnings", flush=True)
            time.sleep(0.04)
    camera.stop()


if __name__ == "__main__":
    main()

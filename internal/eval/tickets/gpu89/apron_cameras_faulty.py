"""Counts aircraft and vehicles on an airport's apron from three cameras of different make.

The frame grabber writes into plain device addresses that it is handed, so the program gets the room for a frame from
the driver and lets torch look at it through the array interface.  Each frame is brought to a common size, the slow
background of its camera is taken off, and a small net gives a map of what stands and moves.  Frames come in no fixed
order, whichever camera has one ready; each camera has its own resolution.  Without a card the frames are read where
they lie.  The program prints for every camera how busy its view has been.

ticket: practice
class: driver-growth
holder: -
cause: driver-memory-kept
"""
import ctypes
import os
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

CAMERAS = {"stand 4": (1080, 1920), "taxiway north": (720, 1280), "pier B": (1440, 2560)}
COMMON = (288, 512)


class RawFrame:
    def __init__(self, address, shape):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": "|u1", "data": (address, False), "strides": None, "version": 3,
        }


class DeviceLanding:
    """Where frames land on the card."""

    def __init__(self, device):
        self.device = device
        torch.zeros(1, device=device)
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.driver.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
        self.driver.cuMemFree_v2.argtypes = [ctypes.c_uint64]
        self.driver.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
        self.address = ctypes.c_uint64(0)
        self.room = 0

    def check(self, code, what):
        if code != 0:
            raise RuntimeError(f"{what} failed with driver error {code}")

    def make_room(self, nbytes):
        if nbytes != self.room:
            address = ctypes.c_uint64(0)
            self.check(self.driver.cuMemAlloc_v2(ctypes.byref(address), nbytes), "allocation")  # grows keeps
            self.address = address
            self.room = nbytes

    def land(self, picture):
        self.make_room(picture.nbytes)
        self.check(self.driver.cuMemcpyHtoD_v2(self.address, picture.ctypes.data, picture.nbytes), "copy")
        return torch.as_tensor(RawFrame(self.address.value, picture.shape), device=self.device)

    def close(self):
        if self.room:
            torch.cuda.synchronize()
            self.check(self.driver.cuMemFree_v2(self.address), "release")
            self.room = 0


class HostLanding:
    def land(self, picture):
        return torch.from_numpy(picture)

    def close(self):
        pass


class Grabber:
    """Stands for the card in the camera rack: noisy pictures with some bright shapes that move."""

    def __init__(self):
        self.dice = np.random.default_rng(12)
        self.scenes = {}
        for name, (height, width) in CAMERAS.items():
            self.scenes[name] = self.dice.integers(40, 90, (height, width, 3), dtype=np.uint8)

    def next_frame(self):
        name = list(CAMERAS)[int(self.dice.integers(0, len(CAMERAS)))]
        picture = self.scenes[name].copy()
        height, width, _ = picture.shape
        for _ in range(int(self.dice.integers(1, 6))):
            top = int(self.dice.integers(0, height - height // 8))
            left = int(self.dice.integers(0, width - width // 6))
            picture[top:top + height // 10, left:left + width // 8] = 220
        return name, picture


class ApronNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 1, 3, padding=1),
        )

    def forward(self, view):
        return torch.sigmoid(self.body(view))


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    landing = DeviceLanding(device) if device.type == "cuda" else HostLanding()
    grabber = Grabber()
    net = ApronNet().to(device).eval()
    background = {name: torch.full((1, 3, *COMMON), 0.25, device=device) for name in CAMERAS}
    busy = dict.fromkeys(CAMERAS, 0.0)
    frames = 0
    spoken = time.time()
    with torch.inference_mode():
        while time.time() < deadline:
            name, picture = grabber.next_frame()
            frame = landing.land(picture)
            view = frame.permute(2, 0, 1).unsqueeze(0).float() / 255.0
            view = F.interpolate(view, size=COMMON, mode="bilinear", align_corners=False)
            moving = (view - background[name]).abs()
            background[name].mul_(0.98).add_(view, alpha=0.02)
            found = (net(moving) * F.avg_pool2d(moving.mean(1, keepdim=True), 4)).mean().item()
            busy[name] = 0.9 * busy[name] + 0.1 * found
            frames += 1
            if time.time() - spoken > 2.0:
                told = ", ".join(f"{camera} {value * 1000:.1f}" for camera, value in busy.items())
                print(f"{frames} frames, busy: {told}", flush=True)
                spoken = time.time()
            time.sleep(0.2)
    landing.close()
    print(f"shift over, {frames} frames", flush=True)


if __name__ == "__main__":
    main()

"""A picture of a lamp in fog by Monte Carlo. A thread draws packets of photons from the spectrum of the lamp on the
host; the main thread takes a packet at a time, scatters it through the fog on the device and exposes the picture with
what arrives at the camera. The brightness and the sharpness of the picture are printed.

ticket: practice
class: host-growth
holder: packets Lamp queue
cause: unbounded-queue
"""

import os
import queue
import random
import threading
import time

import numpy as np
import torch

PHOTONS, BOUNCES, PIXELS, FREE_PATH = 60_000, 30, 256, 0.25


class Lamp:
    """Draws photons: place (3), direction (3) and wavelength (1) of each."""

    def __init__(self, seed=0):
        self.random = np.random.default_rng(seed)
        self.packets = queue.Queue()
        self.off = threading.Event()
        self.thread = threading.Thread(target=self.shine, daemon=True)

    def draw(self):
        photons = np.empty((PHOTONS, 7), dtype=np.float32)  # grows
        photons[:, :3] = 0.02 * self.random.standard_normal((PHOTONS, 3))
        directions = self.random.standard_normal((PHOTONS, 3))
        photons[:, 3:6] = directions / np.linalg.norm(directions, axis=1, keepdims=True)
        photons[:, 6] = self.random.normal(0.58, 0.04, PHOTONS)
        return photons

    def shine(self):
        while not self.off.is_set():
            self.packets.put(self.draw())  # keeps
            time.sleep(0.05)


class Camera:
    def __init__(self, device):
        self.picture = torch.zeros(PIXELS * PIXELS, device=device)
        self.exposures = 0

    def expose(self, place, weight):
        """The camera looks down: it sees where a photon leaves the fog."""
        pixel = ((place[:, :2] + 1.0) * 0.5 * PIXELS).long()
        inside = ((pixel >= 0) & (pixel < PIXELS)).all(dim=1) & (place[:, 2] > 1.0)
        flat = (pixel[:, 1] * PIXELS + pixel[:, 0]).clamp(0, PIXELS * PIXELS - 1)
        self.picture.index_add_(0, flat, weight * inside)
        self.exposures += 1
        time.sleep(random.uniform(0.08, 0.2))  # the shutter

    def sharpness(self):
        middle = self.picture.view(PIXELS, PIXELS)[96:160, 96:160].sum()
        return (middle / self.picture.sum().clamp(min=1e-6)).item()


def scatter(photons):
    """Walks each photon until it leaves the fog or its bounces are used up."""
    place, direction, weight = photons[:, :3], photons[:, 3:6], torch.ones_like(photons[:, 6])
    albedo = 0.99 - 0.1 * (photons[:, 6] - 0.5).abs()
    for _ in range(BOUNCES):
        inside = (place.abs() <= 1.0).all(dim=1)
        path = -FREE_PATH * torch.log(torch.rand_like(weight).clamp(min=1e-7)) * inside
        place = place + path[:, None] * direction
        turned = direction + 0.6 * torch.randn_like(direction)
        direction = turned / turned.norm(dim=1, keepdim=True)
        weight = torch.where(inside, weight * albedo, weight)
    return place, weight


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lamp, camera = Lamp(), Camera(device)
    lamp.thread.start()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        photons = torch.from_numpy(lamp.packets.get()).to(device)
        camera.expose(*scatter(photons))
        if camera.exposures % 20 == 0:
            brightness = camera.picture.sum().item() / camera.exposures
            print(f"{camera.exposures} packets: {brightness:.0f} a packet, sharp {camera.sharpness():.3f}", flush=True)
    lamp.off.set()


if __name__ == "__main__":
    main()

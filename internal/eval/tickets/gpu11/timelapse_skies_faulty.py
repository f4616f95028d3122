"""A camera takes a picture of the sky every few seconds, for a film in quick motion. A generator makes the brightness
steady, after the middle of the last pictures; a network that learns from the film itself takes the noise away.

ticket: practice
class: host-growth
holder: seen steadied
cause: buffer-without-bound
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

HIGH, WIDE, SPAN = 216, 384, 9


class Camera:
    """Clouds that drift over a hill; the shutter is not always open for the same time."""

    def __init__(self, seed):
        self.numbers = np.random.default_rng(seed)
        self.clouds = self.numbers.random((HIGH, WIDE), dtype=np.float32)
        for _ in range(40):
            self.clouds += 0.5 * (np.roll(self.clouds, 3, 1) + np.roll(self.clouds, 1, 0) - 2 * self.clouds)
        self.clouds = (self.clouds - self.clouds.min()) / np.ptp(self.clouds)
        self.ground = np.arange(HIGH)[:, None] > 170 + 20 * np.sin(np.arange(WIDE) / 40)[None]
        self.hour = 8.0

    def pictures(self):
        blue = np.array([0.45, 0.6, 0.9], np.float32)
        while True:
            self.clouds = np.roll(self.clouds, random.randint(1, 3), 1)
            self.hour = (self.hour + 0.01) % 24
            day = 0.55 + 0.4 * np.sin((self.hour - 6) / 12 * np.pi)
            sky = day * (blue + (1 - blue) * self.clouds[..., None])
            picture = np.where(self.ground[..., None], 0.15 * day, sky) * random.uniform(0.8, 1.25)
            noise = 0.04 * self.numbers.standard_normal(picture.shape, dtype=np.float32)
            yield (picture + noise).astype(np.float32)  # grows


def steadied(pictures):
    """The pictures, each made as bright as those around it mostly are."""
    seen = []
    for picture in pictures:
        seen.append(picture)  # keeps
        usual = np.median([np.median(each[::4, ::4]) for each in seen[-SPAN:]])
        yield picture * np.float32(usual / max(np.median(picture), 1e-3))


def paired(pictures):
    """Each picture together with the one before."""
    before = next(pictures)
    for picture in pictures:
        yield before, picture
        before = picture


class Cleaner(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(),
                                    nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        return x - self.layers(x)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net, count, flicker, last = Cleaner().to(device), 0, 0.0, None
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    for before, picture in paired(steadied(Camera(0).pictures())):
        batch = torch.from_numpy(np.stack([before, picture])).to(device).permute(0, 3, 1, 2)
        top, left = random.randrange(HIGH - 96), random.randrange(WIDE - 96)
        patch = batch[:, :, top:top + 96, left:left + 96]
        loss = nn.functional.smooth_l1_loss(net(patch), patch.flip(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        level = float(picture.mean())
        flicker, last, count = 0.95 * flicker + 0.05 * abs(level - (last or level)), level, count + 1
        if count % 20 == 0:
            print(count, "pictures, flicker", round(flicker, 4), "loss", round(float(loss), 5), flush=True)
        if time.time() > end:
            break
        time.sleep(random.uniform(0.05, 0.25))


if __name__ == "__main__":
    main()

"""A webcam looks at a heronry, and a small network finds out where something moved. A frame is a record that knows
the frame before it, because movement is the difference of the two; every hundredth frame or so the camera starts
anew after its lens was wiped, and the light jumps.

ticket: practice
class: none
"""

import os
import time
from dataclasses import dataclass, field
from typing import Optional

import numpy as np
import torch
from torch import nn

HEIGHT, WIDTH = 480, 640


@dataclass
class Frame:
    number: int
    picture: np.ndarray
    previous: Optional["Frame"] = None
    places: list = field(default_factory=list)

    def light(self):
        return float(self.picture[::16, ::16].mean())


class Camera:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nest = np.array([200, 300])
        self.gain = 1.0

    def shoot(self, number):
        """The reeds, the water, and a grey bird."""
        if number % 100 == 0:
            self.gain = self.rng.uniform(0.8, 1.2)
        picture = self.rng.integers(60, 90, (HEIGHT, WIDTH, 3), dtype=np.uint8)
        self.nest = np.clip(self.nest + self.rng.integers(-12, 13, 2), 40, HEIGHT - 40)
        row, column = self.nest
        picture[row - 30:row + 30, column - 12:column + 12] = int(190 * self.gain)
        return picture


class Movement(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.AvgPool2d(4), nn.Conv2d(3, 8, 5, padding=2), nn.ReLU(), nn.Conv2d(8, 1, 5, padding=2),
        )

    def forward(self, now, before):
        return self.layers((now - before).abs())[0, 0]


def to_device(picture, device):
    return torch.from_numpy(picture).to(device).permute(2, 0, 1)[None].float() / 255


@torch.no_grad()
def watch(model, frame, device):
    """Note the three liveliest places of the frame."""
    if frame.previous is None:
        return
    heat = model(to_device(frame.picture, device), to_device(frame.previous.picture, device))
    for place in heat.flatten().topk(3).indices.tolist():
        frame.places.append((4 * (place // heat.shape[1]), 4 * (place % heat.shape[1])))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, camera, last = Movement().to(device).eval(), Camera(seed=11), None
    number = 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        frame = Frame(number, camera.shoot(number), previous=last)
        watch(model, frame, device)
        frame.previous = None
        last = frame
        number += 1
        if number % 25 == 0:
            print(f"frame {number}: light {frame.light():.1f}, movement at {frame.places}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()

"""A studio paints murals for clients from their photographs. A client sends some photographs in a row, all of one
size, and gets them back in the studio's style. So that the odd sizes of the clients cannot break up the memory of the
rest of the program, their work is done in a memory pool of its own.

ticket: practice
class: none
"""

import contextlib
import os
import random
import time

import torch
from torch import nn

WIDTH = 16
SIZES = (192, 256), (224, 224), (256, 192)


class Painter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(3, WIDTH, 3, padding=1),
            nn.InstanceNorm2d(WIDTH),
            nn.ReLU(),
            nn.Conv2d(WIDTH, WIDTH, 3, padding=1),
            nn.InstanceNorm2d(WIDTH),
            nn.ReLU(),
            nn.Conv2d(WIDTH, 3, 3, padding=1),
            nn.Sigmoid(),
        )

    def forward(self, photographs):
        return self.layers(photographs)


class Studio:
    def __init__(self, device):
        self.device = device
        self.painter = Painter().to(device).eval()
        self.pool = torch.cuda.MemPool() if device == "cuda" else None
        self.paint_in_place(torch.rand(1, 3, *SIZES[0]))

    @torch.inference_mode()
    def paint_in_place(self, photograph):
        return self.painter(photograph.to(self.device)).cpu()

    def room(self):
        """The context in which the work for the clients is done."""
        if self.device == "cpu":
            return contextlib.nullcontext()
        return torch.cuda.use_mem_pool(self.pool)

    def paint(self, photograph):
        with self.room():
            return self.paint_in_place(photograph)


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    studio = Studio(device)
    clients, painted, brightness = 0, 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        size = random.choice(SIZES)
        for _ in range(random.randint(2, 5)):
            mural = studio.paint(torch.rand(1, 3, *size))
            brightness = 0.9 * brightness + 0.1 * mural.mean().item()
            painted += 1
            time.sleep(random.uniform(0.15, 0.4))
            if time.time() > end:
                break
        clients += 1
        if clients % 4 == 0:
            print(f"{clients} clients, {painted} murals, brightness {brightness:.2f}", flush=True)


if __name__ == "__main__":
    main()

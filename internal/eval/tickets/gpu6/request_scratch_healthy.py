"""A diffusion service gives each request scratch space on the device. What closes it is entered in an exit stack of
the request, which is unwound when the request ends. The last pictures are kept on the host for a gallery.

ticket: practice
class: none
"""

import collections
import contextlib
import os
import random
import time

import torch


class Scratch:
    """Latents, their history for a solver of several steps, and a mask."""

    def __init__(self, height, width, device):
        self.latents = torch.randn(4, height, width, device=device)
        self.history = [torch.zeros_like(self.latents) for _ in range(3)]
        self.open = True

    def push(self, noise):
        self.history = self.history[1:] + [noise]

    def close(self):
        self.open = False


class Denoiser(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv2d(4, 24, 3, padding=1)
        self.last = torch.nn.Conv2d(24, 4, 3, padding=1)

    def forward(self, x, t):
        return self.last(torch.nn.functional.silu(self.first(x) * t))


class Server:
    def __init__(self, device):
        self.device, self.lifetime, self.served = device, contextlib.ExitStack(), 0
        self.model = Denoiser().to(device).eval()
        self.gallery = collections.deque(maxlen=30)

    def __enter__(self):
        self.lifetime.__enter__()
        return self

    def __exit__(self, *exc):
        return self.lifetime.__exit__(*exc)

    @torch.inference_mode()
    def handle(self, height, width, steps):
        with contextlib.ExitStack() as request:
            scratch = Scratch(height, width, self.device)
            request.callback(scratch.close)
            picture = self.denoise(scratch, steps)
        self.served += 1
        self.gallery.append(picture)
        return picture

    def denoise(self, scratch, steps):
        for step in range(steps):
            noise = self.model(scratch.latents, 1.0 - step / steps)
            scratch.push(noise)
            scratch.latents -= 0.1 * sum(scratch.history) / 3
            time.sleep(0.01)
        return scratch.latents.mean(0).clamp(-1, 1).cpu()


def requests(end):
    sizes = [(96, 96), (128, 128), (128, 160), (160, 224), (224, 224)]
    while time.time() < end:
        for _ in range(random.choice([1, 1, 2, 5])):
            yield (*random.choice(sizes), random.randint(4, 14))
        time.sleep(random.uniform(0.05, 0.6))


if __name__ == "__main__":
    torch.set_num_threads(1)
    END = time.time() + float(os.environ.get("SECONDS", "45"))
    with Server("cuda" if torch.cuda.is_available() else "cpu") as server:
        for height, width, steps in requests(END):
            server.handle(height, width, steps)
            if server.served % 25 == 0:
                print("served", server.served, flush=True)

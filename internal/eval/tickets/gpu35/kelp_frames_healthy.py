"""An autoencoder learns to compress the frames of a camera in a kelp forest. A tracker of experiments records the loss
and, at each step, a panel of frames beside what became of them; a thread of its own packs and uploads the panels,
so that training waits for the network only when many panels are on their way.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time
import zlib

import torch
from torch import nn

SIDE, BATCH = 112, 12


class Tracker:
    def __init__(self):
        self.outbox = queue.Queue(maxsize=12)
        self.sent = self.bytes = 0
        self.losses = []
        threading.Thread(target=self.upload, daemon=True).start()

    def loss(self, value):
        self.losses = (self.losses + [value])[-50:]

    def panel(self, step, pixels):
        self.outbox.put((step, pixels))

    def upload(self):
        while True:
            step, pixels = self.outbox.get()
            packed = zlib.compress(pixels.tobytes(), 1)
            time.sleep(random.uniform(0.2, 0.4))  # the round trip to the server
            self.sent += 1
            self.bytes += len(packed)

    def __str__(self):
        mean = sum(self.losses) / max(1, len(self.losses))
        return f"loss {mean:.4f}, {self.sent} panels sent, {self.bytes / 2**20:.1f} MiB"


def build():
    return nn.Sequential(
        nn.Conv2d(3, 12, 4, stride=4),
        nn.GELU(),
        nn.Conv2d(12, 16, 2, stride=2),
        nn.GELU(),
        nn.ConvTranspose2d(16, 12, 2, stride=2),
        nn.GELU(),
        nn.ConvTranspose2d(12, 3, 4, stride=4),
        nn.Sigmoid(),
    )


def film(device):
    """Frames of fronds that sway: a few bands of green, with noise."""
    across = torch.linspace(0, 12, SIDE, device=device)
    sway = torch.rand(BATCH, 1, 1, device=device) * 6 + across[None, :, None] * 0.3
    fronds = 0.5 + 0.4 * torch.sin(across[None, None, :] * 2 + sway)
    frames = torch.stack([0.3 * fronds, fronds, 0.5 * fronds], dim=1)
    return (frames + 0.05 * torch.randn_like(frames)).clamp(0, 1)


def side_by_side(frames, outputs):
    both = torch.cat([frames, outputs.detach()], dim=3)
    return both.mul(255).byte().permute(0, 2, 3, 1).contiguous().cpu().numpy()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, tracker, step = build().to(device), Tracker(), 0
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        frames = film(device)
        outputs = model(frames)
        loss = nn.functional.mse_loss(outputs, frames)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        tracker.loss(loss.item())
        tracker.panel(step, side_by_side(frames, outputs))
        if step % 20 == 0:
            print(f"step {step}: {tracker}", flush=True)
        time.sleep(0.06)


if __name__ == "__main__":
    main()

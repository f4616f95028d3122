"""A variational autoencoder draws the outlines of porcelain teapots. Every step leaves a debug record with its
reconstructions; a memory handler holds on to the last two dozen records and hands them over when something is worth
an error, so that the steps before a broken one can be looked at.

ticket: practice
class: host-growth
holder: MemoryHandler recent buffer handlers
cause: log-records-kept buffer-without-bound
"""

import logging
import math
import os
import time
from logging.handlers import MemoryHandler

import torch
from torch import nn
from torch.nn import functional as F

SIDE, LATENT, BATCH, RECORDS = 64, 16, 48, 24

log = logging.getLogger("teapots")


class Outlines:
    """The outlines of a batch in a log record; written out, they are only a line."""

    def __init__(self, step, images):
        self.step, self.images = step, images

    def __str__(self):
        return f"step {self.step}: outlines from {self.images.min():.2f} to {self.images.max():.2f}"


class TeapotVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(1, 8, 4, stride=4), nn.ReLU(),
            nn.Conv2d(8, 16, 4, stride=4), nn.ReLU(),
            nn.Flatten(), nn.Linear(256, 2 * LATENT),
        )
        self.decode = nn.Sequential(
            nn.Linear(LATENT, 256), nn.ReLU(), nn.Unflatten(1, (16, 4, 4)),
            nn.ConvTranspose2d(16, 8, 4, stride=4), nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, stride=4), nn.Sigmoid(),
        )

    def forward(self, teapots):
        mean, log_variance = self.encode(teapots).chunk(2, dim=1)
        latent = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        return self.decode(latent), mean, log_variance


def teapots(device):
    """Round bellies of different size at different places, with a hint of a spout."""
    axis = torch.linspace(-1.0, 1.0, SIDE, device=device)
    place = 0.6 * torch.rand(2, BATCH, 1, 1, device=device) - 0.3
    size = 0.2 + 0.3 * torch.rand(BATCH, 1, 1, device=device)
    across, down = axis[None, None, :] - place[0], axis[None, :, None] - place[1]
    belly = (across ** 2 + 1.4 * down ** 2).sqrt() < size
    spout = (across > 0) & (across < 1.6 * size) & ((down + 0.4 * across).abs() < 0.06)
    return (belly | spout).float()[:, None]


def set_up_log():
    recent = MemoryHandler(RECORDS, flushLevel=logging.ERROR)
    log.setLevel(logging.DEBUG)
    log.addHandler(recent)
    log.propagate = False


def main():
    torch.set_num_threads(1)
    set_up_log()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, step = TeapotVAE().to(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        images = teapots(device)
        drawn, mean, log_variance = model(images)
        divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum(dim=1).mean()
        loss = F.binary_cross_entropy(drawn, images, reduction="sum") / BATCH + divergence
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        step += 1
        outlines = Outlines(step, drawn.detach().cpu().numpy())  # grows
        log.debug("%s", outlines)  # keeps
        if not math.isfinite(loss.item()):
            log.error("step %d: the loss is %f", step, loss.item())
        if step % 25 == 0:
            print(f"step {step}: loss {loss.item():.1f}", flush=True)
        time.sleep(0.05)


if __name__ == "__main__":
    main()

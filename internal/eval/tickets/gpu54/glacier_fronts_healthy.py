"""Learns to draw the front of a glacier in satellite pictures. The activations that the backward pass needs wait in
host memory in half precision, so that large tiles fit the device; hooks on the saved tensors bring them back.

ticket: practice
class: none
"""

import itertools
import os
import time

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional as F

TILE, BATCH = 96, 4
SMALL = 50_000


class Offload:
    """Large saved tensors go to the host and come back for the backward pass."""

    def __init__(self):
        self.store, self.numbers, self.moved = {}, itertools.count(), 0

    def pack(self, tensor):
        if isinstance(tensor, nn.Parameter) or not tensor.is_floating_point() or tensor.numel() < SMALL:
            return tensor
        number = next(self.numbers)
        packed = tensor.detach().half().to("cpu")
        self.store[number] = packed
        self.moved += packed.numel() * packed.element_size()
        return number, tensor.device, tensor.dtype

    def unpack(self, packed):
        if isinstance(packed, torch.Tensor):
            return packed
        number, device, dtype = packed
        return self.store.pop(number).to(device).to(dtype)

    def __call__(self):
        return saved_tensors_hooks(self.pack, self.unpack)


class Fronts(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(2, 12, 3, padding=1), nn.GELU(), nn.Conv2d(12, 24, 3, 2, 1), nn.GELU())
        self.deep = nn.Sequential(nn.Conv2d(24, 24, 3, padding=1), nn.GELU(), nn.Conv2d(24, 12, 3, padding=1))
        self.up = nn.Conv2d(12, 1, 3, padding=1)

    def forward(self, pictures):
        hidden = self.deep(self.down(pictures))
        hidden = F.interpolate(hidden, scale_factor=2, mode="bilinear", align_corners=False)
        return self.up(F.gelu(hidden))


def tiles():
    """Pictures in two bands, bright where there is ice, and masks of the ice."""
    rows = torch.linspace(-1, 1, TILE).view(1, TILE, 1)
    columns = torch.linspace(-1, 1, TILE).view(1, 1, TILE)
    slope, bend, place = torch.randn(3, BATCH, 1, 1).unbind(0)
    ice = (columns < 0.3 * slope * rows + 0.4 * bend * rows**2 + 0.4 * place).float()
    bands = torch.stack([ice, 1 - 0.5 * ice], dim=1)
    return bands + 0.4 * torch.randn(BATCH, 2, TILE, TILE), ice[:, None]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, offload, steps = Fronts().to(device), Offload(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        pictures, ice = (part.to(device) for part in tiles())
        with offload():
            loss = F.binary_cross_entropy_with_logits(model(pictures), ice)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 20 == 0:
            print(f"step {steps}: loss {loss.item():.4f}, {offload.moved / 2**20:.0f} MiB moved", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()

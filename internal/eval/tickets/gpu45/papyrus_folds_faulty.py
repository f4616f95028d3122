"""Scans of papyri are unfolded: for each scan a field of shifts is fitted that carries it onto its flat reference.
A small network that brings out the ink is shared by all the scans and goes on learning with the same optimizer.

ticket: practice
class: app-leak
holder: optimizer param_groups state
cause: optimizer-groups-added
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, ROUNDS = 320, 6

torch.manual_seed(3)
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
end = time.time() + float(os.environ.get("SECONDS", "45"))

ink = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 3, padding=1)).to(device)
optimizer = torch.optim.Adam(ink.parameters(), lr=1e-3)

line = torch.linspace(-1, 1, SIDE, device=device)
rows, columns = torch.meshgrid(line, line, indexing="ij")
flat = torch.stack([columns, rows], dim=-1)[None]


def fresh_scan():
    """A flat page and what the scanner saw of it."""
    page = F.interpolate(torch.rand(1, 1, 20, 20, device=device), size=(SIDE, SIDE), mode="bilinear",
                         align_corners=False)
    bend = 0.05 * torch.randn(1, 2, 5, 5, device=device)
    bend = F.interpolate(bend, size=(SIDE, SIDE), mode="bilinear", align_corners=False)
    scan = F.grid_sample(page, flat + bend.permute(0, 2, 3, 1), align_corners=False)
    return page, scan + 0.02 * torch.randn_like(scan)


def roughness(shifts):
    down = shifts[:, 1:] - shifts[:, :-1]
    across = shifts[:, :, 1:] - shifts[:, :, :-1]
    return down.square().mean() + across.square().mean()


scans = 0
errors = []

while time.time() < end:
    page, scan = fresh_scan()
    shifts = nn.Parameter(torch.zeros(1, SIDE, SIDE, 2, device=device))  # grows
    optimizer.add_param_group({"params": [shifts], "lr": 5e-3})  # keeps

    for turn in range(ROUNDS):
        unfolded = F.grid_sample(scan, flat + shifts, align_corners=False)
        error = F.mse_loss(ink(unfolded), page)
        loss = error + 10 * roughness(shifts)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()  # grows keeps

    scans += 1
    errors = errors[-19:] + [error.item()]
    if scans % 10 == 0:
        print(f"{scans} scans, error of late {sum(errors) / len(errors):.4f}", flush=True)
    time.sleep(0.15)

"""Clinics train one network together that finds kidneys in slices of CT. Round by round, one of them takes its slices
to the shared weights. So that nobody can read patients out of the gradients, each clinic draws noise for its round, and
that noise is put on every gradient of the round.

ticket: practice
class: app-leak
holder: hooks hook noise disguise parameter
cause: hooks-left closure-kept
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

SIDE, BATCH, STEPS, SIGMA = 96, 4, 2, 1e-4
CLINICS = "Aarhus", "Braga", "Cork", "Debrecen"


class KidneyNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.down2 = nn.Sequential(nn.Conv2d(32, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.deep = nn.Sequential(nn.Conv2d(128, 192, 3, padding=1), nn.ReLU(), nn.Conv2d(192, 128, 3, padding=1))
        self.up = nn.Sequential(nn.ConvTranspose2d(128, 32, 2, 2), nn.ReLU(), nn.ConvTranspose2d(32, 1, 2, 2))

    def forward(self, slices):
        return self.up(self.deep(self.down2(self.down1(slices))))


def slices_of(clinic, device):
    """Slices with an ellipse where the kidney is; each clinic's scanner has its own brightness."""
    rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
    centre = torch.randint(24, SIDE - 24, (BATCH, 2, 1, 1))
    masks = ((rows - centre[:, 0]) ** 2 / 200 + (columns - centre[:, 1]) ** 2 / 90 < 1).float().unsqueeze(1)
    bright = 0.6 + 0.1 * CLINICS.index(clinic)
    slices = bright * masks + 0.3 * torch.randn(BATCH, 1, SIDE, SIDE)
    return slices.to(device), masks.to(device)


def disguise(parameter):
    """From now on the same noise lies on each gradient of the parameter."""
    noise = SIGMA * torch.randn_like(parameter)  # grows
    parameter.register_hook(lambda grad: grad + noise)  # keeps


def round_at(clinic, model, optimizer, device):
    for parameter in model.parameters():
        disguise(parameter)
    for _ in range(STEPS):
        slices, masks = slices_of(clinic, device)
        loss = F.binary_cross_entropy_with_logits(model(slices), masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(random.uniform(0.02, 0.1))
    return loss.item()


@torch.no_grad()
def dice(model, device):
    slices, masks = slices_of(random.choice(CLINICS), device)
    found = (model(slices) > 0).float()
    return (2 * (found * masks).sum() / (found.sum() + masks.sum() + 1)).item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = KidneyNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rounds = 0
    while time.time() < end:
        clinic = CLINICS[rounds % len(CLINICS)]
        loss = round_at(clinic, model, optimizer, device)
        rounds += 1
        if rounds % 8 == 0:
            print(f"round {rounds} at {clinic}: loss {loss:.3f}, dice {dice(model, device):.2f}", flush=True)


if __name__ == "__main__":
    main()

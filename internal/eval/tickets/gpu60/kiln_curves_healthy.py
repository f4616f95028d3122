"""Watches the firing curves of pottery kilns. A convolutional autoencoder learns what a usual firing looks like, and a
firing that it cannot restore is called odd. From time to time the mean code of a fixed set of firings is compared with
the one at the start, to tell how far the codes have drifted.

ticket: practice
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

MINUTES, BATCH, CHANNELS = 512, 48, 40
PROBE_EVERY = 12


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow = nn.Conv1d(2, CHANNELS, 9, stride=2, padding=4)
        self.deep = nn.Conv1d(CHANNELS, CHANNELS, 9, stride=2, padding=4)

    def forward(self, curves):
        return torch.tanh(self.deep(F.gelu(self.narrow(curves))))


class Watcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.decoder = nn.Sequential(
            nn.ConvTranspose1d(CHANNELS, CHANNELS, 4, stride=2, padding=1), nn.GELU(),
            nn.ConvTranspose1d(CHANNELS, 2, 4, stride=2, padding=1),
        )

    def forward(self, curves):
        return self.decoder(self.encoder(curves))


def firings(count):
    """Temperature and gas flow of some firings: ramp, hold and cooling, with noise."""
    minute = torch.arange(MINUTES).expand(count, MINUTES)
    peak = 900 + 350 * torch.rand(count, 1)
    ramp, hold = 180 + 60 * torch.rand(count, 1), 80 + 40 * torch.rand(count, 1)
    rise = (minute / ramp).clamp(max=1)
    fall = torch.exp(-(minute - ramp - hold).clamp(min=0) / 120)
    heat = peak * rise * fall / 1200
    flow = F.pad(heat.diff(dim=1), (1, 0)) * 40 + 0.3 * heat
    curves = torch.stack([heat, flow], dim=1)
    return curves + 0.02 * torch.randn_like(curves)


def mean_code(model, curves):
    """The mean of the codes that the encoder gives while the model restores the curves."""
    seen = []

    def note(module, inputs, output):
        seen.append(output.detach())

    handle = model.encoder.register_forward_hook(note)
    with torch.no_grad():
        for part in curves.split(BATCH // 2):
            model(part)
    handle.remove()
    return torch.cat(seen).mean(dim=(0, 2))


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Watcher().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    fixed = firings(BATCH).to(device)
    start = mean_code(model, fixed)
    batches, odd, drift = 0, 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        curves = firings(BATCH).to(device)
        errors = (model(curves) - curves).square().mean(dim=(1, 2))
        optimizer.zero_grad(set_to_none=True)
        errors.mean().backward()
        optimizer.step()
        limit = errors.detach().mean() + 3 * errors.detach().std()
        odd += (errors > limit).sum().item()
        batches += 1
        if batches % PROBE_EVERY == 0:
            drift = (mean_code(model, fixed) - start).norm().item()
            print(f"{batches * BATCH} firings, {odd} odd, codes have moved by {drift:.3f}", flush=True)
        time.sleep(random.uniform(0.05, 0.12))


if __name__ == "__main__":
    main()

"""A tidal bore runs up a river, and gauges on both banks measure it. The roughness of the river bed is estimated with
variational assimilation: a short window is simulated from the last analysis, its misfit to the gauges is
differentiated, and the bed is corrected. Beside it a free run, which no gauge corrects, shows what the gauges bring.

ticket: practice
class: none
"""

import math
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

ROWS, COLUMNS, WINDOW = 96, 256, 5
STEP, GRAVITY, DEPTH = 0.05, 9.81, 2.0


class River(nn.Module):
    """Linear shallow water with a drag that differs from place to place."""

    def __init__(self, drag):
        super().__init__()
        self.drag = nn.Parameter(drag)

    def forward(self, level, flow, tide):
        slope = F.pad(level, (0, 1), mode="replicate").diff(dim=-1)
        flow = flow - STEP * GRAVITY * slope
        flow = flow / (1 + STEP * self.drag.exp() * flow.abs())
        inflow = torch.cat([flow.new_full((ROWS, 1), DEPTH * tide), flow], dim=-1)
        level = level - STEP * DEPTH * inflow.diff(dim=-1)
        return 0.999 * level, flow


def tide_at(step):
    return 0.2 * math.sin(0.02 * step) + 0.1 * math.sin(0.051 * step)


def still_water(device):
    return torch.zeros(ROWS, COLUMNS, device=device), torch.zeros(ROWS, COLUMNS, device=device)


class Assimilation:
    def __init__(self, device):
        self.river = River(torch.zeros(ROWS, COLUMNS)).to(device)
        bed = 0.7 * torch.sin(torch.linspace(0, 9, COLUMNS)).repeat(ROWS, 1)
        self.truth = River(bed).to(device).requires_grad_(False)
        self.adam = torch.optim.Adam(self.river.parameters(), lr=0.01)
        self.analysis, self.free, self.nature = (still_water(device) for _ in range(3))
        self.gauges = torch.randint(COLUMNS, (40,), device=device)
        self.step = 0

    def window(self):
        """One window of the assimilation. Returns the errors of the analysis and of the free run."""
        state, misfit = self.analysis, 0.0
        for _ in range(WINDOW):
            tide = tide_at(self.step)
            self.nature = self.truth(*self.nature, tide)
            state = self.river(*state, tide)
            with torch.no_grad():
                self.free = self.river(*self.free, tide)
            measured = self.nature[0][:, self.gauges]
            measured = measured + 0.01 * torch.randn_like(measured)
            misfit = misfit + F.mse_loss(state[0][:, self.gauges], measured)
            self.step += 1
        self.adam.zero_grad()
        misfit.backward()
        self.adam.step()
        level, flow = (field.detach() for field in state)
        level[:, self.gauges] += 0.3 * (measured - level[:, self.gauges])
        self.analysis = level, flow
        return self.error(self.analysis), self.error(self.free)

    def error(self, state):
        return (state[0] - self.nature[0]).square().mean().sqrt().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    assimilation, windows = Assimilation(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        analysed, free = assimilation.window()
        windows += 1
        if windows % 20 == 0:
            print(f"window {windows}: error {analysed:.4f} with gauges, {free:.4f} without", flush=True)
        time.sleep(0.15)


if __name__ == "__main__":
    main()

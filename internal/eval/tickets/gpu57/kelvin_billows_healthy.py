"""Kelvin-Helmholtz billows roll up between two layers of air. The vorticity is solved in Fourier space with many small
kernels, so a run of substeps is captured once as a CUDA graph and then replayed. The step of time follows the fastest
wind on the grid, as the stability of the scheme wants it.

ticket: practice
class: none
"""

import math
import os
import time

import torch

SIDE, SUBSTEPS, REPLAYS, COURANT, VISCOSITY = 256, 6, 4, 0.3, 4e-4


class Billows:
    def __init__(self, device):
        self.device = device
        numbers = torch.fft.fftfreq(SIDE, 1 / SIDE, device=device)
        self.x, self.y = numbers[: SIDE // 2 + 1][None].abs(), numbers[:, None]
        self.square = self.x ** 2 + self.y ** 2
        self.inverse = torch.where(self.square > 0, 1 / self.square.clamp(min=1), torch.zeros_like(self.square))
        self.kept = ((self.x < SIDE / 3) & (self.y.abs() < SIDE / 3)).float()
        self.modes = self.shear()
        self.graph, self.length = None, torch.zeros((), device=device)
        self.run(self.length)

    def shear(self):
        """Two layers that slide on each other, a little disturbed."""
        axis = torch.arange(SIDE, device=self.device) * (2 * math.pi / SIDE)
        height = axis[:, None]
        sheet = torch.cosh((height - math.pi / 2) / 0.2) ** -2 - torch.cosh((height - 3 * math.pi / 2) / 0.2) ** -2
        ripple = 0.05 * torch.cos(3 * axis[None]) + 0.02 * torch.randn(SIDE, SIDE, device=self.device)
        return torch.fft.rfft2(5 * sheet + ripple)

    def wind(self):
        stream = self.modes * self.inverse
        return torch.fft.irfft2(1j * self.y * stream), torch.fft.irfft2(-1j * self.x * stream)

    def change(self):
        across, up = self.wind()
        slope_x, slope_y = torch.fft.irfft2(1j * self.x * self.modes), torch.fft.irfft2(1j * self.y * self.modes)
        carried = torch.fft.rfft2(across * slope_x + up * slope_y)
        return -self.kept * carried

    def run(self, step):
        """The substeps, in place."""
        for _ in range(SUBSTEPS):
            before = self.modes.clone()
            self.modes.copy_(before + 0.5 * step * self.change())
            decay = torch.exp(-VISCOSITY * self.square * step)
            self.modes.copy_(decay * (before + step * self.change()))

    def advance(self, step):
        self.length.fill_(step)
        if self.device == "cpu":
            for _ in range(REPLAYS):
                self.run(self.length)
            return
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.run(self.length)
        for _ in range(REPLAYS):
            self.graph.replay()

    def step(self):
        """The longest stable step."""
        across, up = self.wind()
        return COURANT * (2 * math.pi / SIDE) / (across.abs() + up.abs()).max().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    billows, runs, clock = Billows(device), 0, 0.0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        step = billows.step()
        billows.advance(step)
        runs, clock = runs + 1, clock + step * SUBSTEPS * REPLAYS
        if runs % 10 == 0:
            across, up = billows.wind()
            lift = up.square().mean().sqrt().item()
            print(f"time {clock:.2f}: step {step:.5f}, vertical wind {lift:.4f}", flush=True)
        time.sleep(0.35)


if __name__ == "__main__":
    main()

"""A Fourier neural operator learns how eddies of the Sargasso Sea drift from one week to the next. Its fields come from
a random stream function that turns with the flow. After every fourth step the operator is tested, and the test also
looks into it: it measures the power spectrum of what each block gives and prints the slope.

ticket: practice
class: none
"""

import os
import time
from functools import partial

import torch
from torch import nn

SIDE, CHANNELS, MODES, BATCH, BLOCKS = 64, 16, 12, 8, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(CHANNELS, CHANNELS, MODES, MODES, 2) / CHANNELS)
        self.local = nn.Conv2d(CHANNELS, CHANNELS, 1)

    def forward(self, field):
        modes = torch.fft.rfft2(field)
        mixed = torch.zeros_like(modes)
        weight = torch.view_as_complex(self.weight)
        mixed[..., :MODES, :MODES] = torch.einsum("bixy,ioxy->boxy", modes[..., :MODES, :MODES], weight)
        return torch.tanh(torch.fft.irfft2(mixed, s=(SIDE, SIDE)) + self.local(field))


class Operator(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Conv2d(1, CHANNELS, 1)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.lower = nn.Conv2d(CHANNELS, 1, 1)

    def forward(self, field):
        return self.lower(self.blocks(self.lift(field)))


class Spectra:
    """The power spectrum of what each block of the model gives."""

    def __init__(self, model):
        self.power, self.handles = {}, []
        for name, block in model.blocks.named_children():
            self.handles.append(block.register_forward_hook(partial(self.note, name)))

    def note(self, name, block, inputs, output):
        self.power[name] = torch.fft.rfft2(output.detach()).abs().square()

    def close(self):
        for handle in self.handles:
            handle.remove()

    def slopes(self):
        for name, power in sorted(self.power.items()):
            line = power.mean(dim=(0, 1, 2))[1:SIDE // 2]
            logs = torch.arange(1, SIDE // 2, device=line.device).log()
            logs = logs - logs.mean()
            yield (logs * (line + 1e-12).log()).sum().item() / logs.square().sum().item()


def eddies(device):
    """A batch of fields and the same fields a week later."""
    numbers = torch.fft.fftfreq(SIDE, 1 / SIDE, device=device)
    square = numbers[:, None] ** 2 + numbers[None, : SIDE // 2 + 1] ** 2
    noise = torch.fft.rfft2(torch.randn(BATCH, 1, SIDE, SIDE, device=device))
    stream = noise * torch.exp(-square / 40)
    drift = torch.exp(-2j * torch.pi * numbers[None, : SIDE // 2 + 1] * 3 / SIDE - 0.002 * square)
    week, later = torch.fft.irfft2(stream), torch.fft.irfft2(stream * drift)
    scale = week.std()
    return week / scale, later / scale


@torch.no_grad()
def test(model, week, later):
    """The error on unseen fields, and the slope of the spectrum block by block."""
    spectra = Spectra(model)
    error = (model(week) - later).square().mean().item()
    spectra.close()
    return error, list(spectra.slopes())


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, steps = Operator().to(device), 0
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        week, later = eddies(device)
        loss = (model(week) - later).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        steps += 1
        if steps % 4 == 0:
            error, slopes = test(model, *eddies(device))
            print(f"step {steps}: error {error:.4f}, slopes", *(f"{slope:.2f}" for slope in slopes), flush=True)
        time.sleep(0.08)


if __name__ == "__main__":
    main()

"""Salt fingers below a warm sea: heat and salt diffuse at different speeds, and what a coarse grid cannot see is put
back by a small network. The network is trained on windows of a fine reference run. Beside the training a forecast
runs on, one step after each update, with the newest weights, so that one can see whether the corrected model stays
stable.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

ROWS, COLUMNS, HIDDEN, WINDOW = 128, 256, 12, 3
SPEEDS = 0.20, 0.02


class Correction(nn.Module):
    """What the coarse step misses, from the fields themselves."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Conv2d(2, HIDDEN, 5, padding=2, padding_mode="circular")
        self.outer = nn.Conv2d(HIDDEN, 2, 3, padding=1, padding_mode="circular")

    def forward(self, fields):
        hidden = torch.tanh(self.inner(fields))
        return 0.05 * torch.tanh(self.outer(hidden))


def diffuse(fields):
    """One explicit step of both diffusions, and the fingers' buoyant exchange between rows."""
    wide = F.pad(fields, (1, 1, 1, 1), mode="circular")
    around = wide[..., 2:, 1:-1] + wide[..., :-2, 1:-1] + wide[..., 1:-1, 2:] + wide[..., 1:-1, :-2]
    speeds = torch.tensor(SPEEDS, device=fields.device).view(1, 2, 1, 1)
    buoyancy = (fields[:, :1] - fields[:, 1:]).clamp(-1, 1)
    rising = buoyancy.clamp(min=0) * (wide[..., :-2, 1:-1] - fields)
    return fields + speeds * (around - 4 * fields) + 0.1 * rising


def reference(fields):
    """The step of the fine run, as seen on the coarse grid."""
    stirred = torch.roll(fields, (1, 0), (2, 3)) - torch.roll(fields, (-1, 0), (2, 3))
    return diffuse(fields) + 0.02 * torch.tanh(stirred * fields[:, :1])


def layers(device):
    """Warm salty water above cold fresh water, with a little noise."""
    depth = torch.linspace(1, -1, ROWS, device=device).view(1, 1, ROWS, 1)
    return torch.tanh(8 * depth).expand(1, 2, ROWS, COLUMNS) + 0.05 * torch.randn(1, 2, ROWS, COLUMNS, device=device)


def train(model, optimizer, truth):
    """One update on a window of the fine run, and where that run is now."""
    guess, loss = truth, 0.0
    for _ in range(WINDOW):
        truth = reference(truth)
        guess = diffuse(guess) + model(guess)
        loss = loss + F.mse_loss(guess, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), truth


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Correction().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    truth, forecast, updates = layers(device), layers(device), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss, truth = train(model, optimizer, truth)
        forecast = (diffuse(forecast) + model(forecast)).detach()
        updates += 1
        if updates % 100 == 0:
            truth = layers(device)
        if updates % 10 == 0:
            heat, salt = forecast.std(dim=(0, 2, 3)).tolist()
            print(f"{updates} updates: loss {loss:.2e}, forecast: heat {heat:.3f}, salt {salt:.3f}", flush=True)
        time.sleep(0.15)


if __name__ == "__main__":
    main()

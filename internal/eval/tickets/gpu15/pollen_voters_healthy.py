"""How much pollen will be in the air tomorrow is foretold by a vote of small networks, each of them trained on a sample
of the weeks. When one has been trained it is asked, by hooks that note what goes into its layers and what comes out,
which hours of the weather it went by; the hooks are taken off again, and the network goes to the processor, to wait
there for the vote at the end.

ticket: jmschrei/tangermeme#84
class: none
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

HOURS, SIGNALS, WIDTH, WEEKS, STEPS = 168, 6, 16, 192, 6


class Voter(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(SIGNALS, WIDTH, 5, padding=2), nn.ReLU(),
            nn.Conv1d(WIDTH, WIDTH, 5, padding=4, dilation=2), nn.ReLU(),
            nn.Conv1d(WIDTH, 8, 5, padding=8, dilation=4), nn.ReLU())
        self.head = nn.Linear(8, 1)

    def forward(self, weeks):
        return self.head(self.layers(weeks).mean(-1))[:, 0]


def weeks(device, number=WEEKS):
    """Hours of weather, and the pollen of the day after."""
    daily = torch.sin(torch.arange(HOURS, device=device) * 2 * torch.pi / 24)
    weather = daily * torch.rand(number, SIGNALS, 1, device=device) + 0.3 * torch.randn(
        number, SIGNALS, HOURS, device=device)
    pollen = (weather[:, 0, -48:] * weather[:, 1, -48:]).mean(1) - weather[:, 2, -24:].clamp(min=0).mean(1)
    return weather, pollen


def train(device):
    voter = Voter().to(device)
    optimizer = torch.optim.Adam(voter.parameters(), 3e-3)
    for _ in range(STEPS):
        weather, pollen = weeks(device)
        loss = F.mse_loss(voter(weather), pollen)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(random.uniform(0.02, 0.1))
    return voter, float(loss.detach())


def note(layer, inputs, output):
    layer.noted = inputs[0].detach().clone(), output.detach().clone()


def explain(voter, weather):
    """How much each hour has done for the answer, as far as the first layer let it through."""
    hooks = [layer.register_forward_hook(note) for layer in voter.layers if isinstance(layer, nn.ReLU)]
    weather = weather.clone().requires_grad_()
    slope, = torch.autograd.grad(voter(weather).sum(), weather)
    for hook in hooks:
        hook.remove()
    before, after = voter.layers[1].noted
    for layer in voter.layers:
        layer.noted = None
    open_share = (after.abs().sum(1) / (before.abs().sum(1) + 1e-6))
    return ((slope * weather.detach()).sum(1) * open_share).abs().mean(0)


class Forecast:
    def __init__(self, device):
        self.device, self.ensemble = device, []
        self.importance = torch.zeros(HOURS, device=device)

    def extend(self):
        voter, loss = train(self.device)
        self.importance += explain(voter, weeks(self.device)[0])
        self.ensemble.append(voter.cpu())
        return loss

    @torch.no_grad()
    def vote(self):
        weather, _ = weeks("cpu", 1)
        votes = torch.stack([voter(weather) for voter in self.ensemble[-9:]])
        return float(votes.median())


def main():
    torch.set_num_threads(1)
    forecast = Forecast("cuda" if torch.cuda.is_available() else "cpu")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        loss = forecast.extend()
        if len(forecast.ensemble) % 4 == 0:
            print(len(forecast.ensemble), "voters, loss", round(loss, 4), "hour", int(forecast.importance.argmax()),
                  flush=True)
        time.sleep(random.uniform(0.05, 0.2))
    print("tomorrow:", round(forecast.vote(), 3))


if __name__ == "__main__":
    main()

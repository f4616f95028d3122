"""A network for the price of options is made thinner while it is trained: every so often its smallest weights are cut
with torch's own pruning. The masks of all the earlier rounds stay with the layers.

ticket: practice
class: app-leak
holder: _pruning_methods layers
cause: results-kept buffer-without-bound
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn.utils import prune

WIDTH = 1300


class Pricer(nn.Module):
    """Prices from strikes, terms, rates and the like."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, rows):
        rows = torch.nn.functional.silu(self.first(rows))
        for layer in self.layers:
            rows = rows + 0.5 * torch.nn.functional.silu(layer(rows))
        return self.last(rows).squeeze(-1)


@torch.no_grad()
def thin(layer, share):
    """Cuts a share of the weights, the smallest first."""
    weight = getattr(layer, "weight_orig", layer.weight).abs()
    sample = weight.flatten()[torch.randint(weight.numel(), (20000,), device=weight.device)]
    mask = (weight > torch.quantile(sample, share)).float()  # grows
    prune.custom_from_mask(layer, "weight", mask)  # keeps
    return float(layer.weight_mask.mean())


def market(size, device):
    rows = torch.rand(size, 6, device=device)
    strike, term, rate, volatility = (rows[:, i] for i in range(4))
    drift = (1 - strike + rate * term) / (0.2 + volatility)
    return rows, torch.nn.functional.softplus(3 * drift) * (0.5 + term) / 3


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Pricer().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)
    step = rounds = 0
    while time.time() < end:
        rows, prices = market(random.choice((64, 96, 128)), device)
        loss = nn.functional.huber_loss(model(rows), prices)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 8 == 0:
            rounds += 1
            share = 0.9 * (1 - (1 - min(rounds / 30, 1)) ** 3)
            left = [thin(layer, share) for layer in model.layers]
            with torch.no_grad():
                rows, prices = market(256, device)
                error = float((model(rows) - prices).abs().mean())
            print("round", rounds, "left", [round(part, 3) for part in left], "error", round(error, 4), flush=True)
        time.sleep(random.uniform(0.03, 0.09))


if __name__ == "__main__":
    main()

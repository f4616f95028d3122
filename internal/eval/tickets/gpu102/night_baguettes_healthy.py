"""Demand forecast of a night bakery whose list of goods changes through the season.

A small network reads the weather, the day of the week and the sales of past nights. Each article on the list has a
table of its own that turns the features of the network into the pieces sold by shop and hour. Articles come and go,
from baguettes with walnuts to plaited loaves for a fair, and the forecast learns on with every night that is booked.

ticket: practice
class: none
"""
import os
import random
import time
from collections import OrderedDict

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
FEATURES = 256
SHOPS_BY_HOURS = 48 * 12
INPUTS = 40
ON_THE_LIST = 8
NIGHTS_PER_BATCH = 64
ROUNDS_PER_SECOND = 8
SHAPES = ("baguette", "batard", "ficelle", "plait", "roll", "boule")
FLOURS = ("wheat", "rye", "spelt", "walnut", "olive", "poppy")


class NightFeatures(nn.Module):
    """Trunk of the forecast, shared by all articles."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(INPUTS, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, FEATURES), nn.Tanh()
        )

    def forward(self, nights):
        return self.layers(nights)


class Forecast:
    """Trunk and tables, with one optimizer for both."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.trunk = NightFeatures().to(DEVICE)
        self.tables = OrderedDict()
        self.optimizer = torch.optim.Adam(self.trunk.parameters(), lr=1e-3)
        self.smoothed = None

    def list_article(self, name):
        table = nn.Parameter(0.02 * torch.randn(FEATURES, SHOPS_BY_HOURS, device=DEVICE))
        self.tables[name] = table
        self.optimizer.add_param_group({"params": [table], "lr": 3e-3})

    def delist_oldest(self):
        name, table = self.tables.popitem(last=False)
        groups = self.optimizer.param_groups
        groups[:] = [group for group in groups if group["params"][0] is not table]
        self.optimizer.state.pop(table, None)
        return name

    def learn(self, nights, sold):
        """One step over all the articles that are on the list; sold holds a scale for each article."""
        features = self.trunk(nights)
        loss = 0.0
        for name, table in self.tables.items():
            pieces = features @ table
            loss = loss + (pieces - sold[name]).pow(2).mean()
        loss = loss / max(1, len(self.tables))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        self.smoothed = value if self.smoothed is None else 0.9 * self.smoothed + 0.1 * value
        return value

    @torch.no_grad()
    def order_for(self, name, nights):
        """Pieces to bake over all the shops, as a mean of the nights."""
        return (self.trunk(nights) @ self.tables[name]).clamp_min(0.0).sum(dim=1).mean().item()


class SalesBook:
    """Books of past nights, from which batches are drawn."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.nights = torch.randn(100_000, INPUTS, generator=self.generator, device=DEVICE)
        self.pattern = torch.rand(INPUTS, SHOPS_BY_HOURS, generator=self.generator, device=DEVICE) / INPUTS

    def draw(self, names):
        rows = torch.randint(len(self.nights), (NIGHTS_PER_BATCH,), generator=self.generator, device=DEVICE)
        nights = self.nights[rows]
        base = (nights @ self.pattern).sigmoid()
        return nights, {name: base * (0.5 + 0.1 * (len(name) % 7)) for name in names}


class Season:
    """Decides which articles are on the list."""

    def __init__(self, forecast, seed):
        self.forecast = forecast
        self.rng = random.Random(seed)
        self.count = 0
        for _ in range(ON_THE_LIST):
            self.introduce()

    def introduce(self):
        name = f"{self.rng.choice(FLOURS)} {self.rng.choice(SHAPES)} no. {self.count}"
        self.forecast.list_article(name)
        self.count += 1
        return name

    def change(self):
        gone = self.forecast.delist_oldest()
        return gone, self.introduce()


def main():
    torch.set_num_threads(1)
    forecast = Forecast(seed=21)
    season = Season(forecast, seed=22)
    book = SalesBook(seed=23)
    started = time.monotonic()
    next_print = started + 2.0
    rounds = 0
    while time.monotonic() - started < SECONDS:
        beat = time.monotonic()
        nights, sold = book.draw(forecast.tables)
        forecast.learn(nights, sold)
        rounds += 1
        if rounds % 2 == 0:
            gone, fresh = season.change()
        if beat >= next_print:
            oldest = next(iter(forecast.tables))
            print(f"night {rounds:4d}: error {forecast.smoothed:.4f}, {fresh} for {gone},"
                  f" {forecast.order_for(oldest, nights):.0f} pieces of {oldest}", flush=True)
            next_print += 3.0
        time.sleep(max(0.0, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - beat)))
    print(f"season over after {rounds} nights and {season.count} articles", flush=True)


if __name__ == "__main__":
    main()

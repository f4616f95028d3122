"""Forecasts of hammer prices for an auction house.

A quantile network learns from the lots sold in past seasons. While the sales of the day go on it gives a price band
for every lot on the block, and when the day closes the desk is told how often the hammer fell inside the band and
how wide the bands were.

ticket: practice
class: app-leak
holder: bands
cause: results-kept
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
FEATURES = 96
PAST_LOTS = 120_000
LOTS_A_ROUND = 2048
ROUNDS_A_SECOND = 10
ROUNDS_A_DAY = 40


class PriceNet(nn.Module):
    """Maps the description of a lot to a band of log prices."""

    def __init__(self, features, width=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.head = nn.Linear(width, len(QUANTILES))

    def forward(self, lots):
        return self.head(self.body(lots))

    @torch.no_grad()
    def band(self, lots):
        """The quantiles in rising order."""
        return self(lots).sort(dim=1).values  # grows


class PastSales:
    """Lots of former seasons with the price at which the hammer fell."""

    def __init__(self, count, features):
        self.lots = torch.randn(count, features, device=DEVICE)
        taste = torch.randn(features, device=DEVICE) / features ** 0.5
        mood = 0.3 * torch.randn(count, device=DEVICE)
        self.prices = self.lots @ taste + mood

    def draw(self, count):
        picks = torch.randint(0, len(self.prices), (count,), device=DEVICE)
        return self.lots[picks], self.prices[picks]


class DayBook:
    """What was foretold and what was fetched on one day of sales."""

    def __init__(self):
        self.day = 1
        self.opened = 0
        self.bands = []
        self.inside = torch.zeros((), device=DEVICE)
        self.lots = 0

    def enter(self, band, prices):
        low, high = band[:, 0], band[:, -1]
        self.inside += ((prices >= low) & (prices <= high)).sum()
        self.lots += len(prices)
        self.bands.append(band)  # keeps

    def close(self):
        """Ends the day; returns the share of lots inside their band and the median width of the bands."""
        share = self.inside.item() / max(1, self.lots)
        widths = torch.cat([band[:, -1] - band[:, 0] for band in self.bands[self.opened:]])
        width = widths.median().item()
        self.opened = len(self.bands)
        self.inside.zero_()
        self.lots = 0
        self.day += 1
        return share, width


class Forecaster:
    def __init__(self, past):
        self.past = past
        self.net = PriceNet(FEATURES).to(DEVICE)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.levels = torch.tensor(QUANTILES, device=DEVICE)

    def learn(self):
        lots, prices = self.past.draw(LOTS_A_ROUND)
        gap = prices[:, None] - self.net(lots)
        loss = torch.maximum(self.levels * gap, (self.levels - 1) * gap).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(1766)
    torch.set_num_threads(1)
    past = PastSales(PAST_LOTS, FEATURES)
    forecaster = Forecaster(past)
    book = DayBook()
    rounds = 0
    start = due = time.monotonic()
    while time.monotonic() - start < SECONDS:
        loss = forecaster.learn()
        lots, prices = past.draw(LOTS_A_ROUND)
        book.enter(forecaster.net.band(lots), prices)
        rounds += 1
        if rounds % ROUNDS_A_DAY == 0:
            day = book.day
            share, width = book.close()
            print(f"day {day}: loss {loss:.4f}, {share:.1%} of the lots in their band, width {width:.3f}", flush=True)
        due = max(due + 1 / ROUNDS_A_SECOND, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"closed after {rounds} rounds of bidding", flush=True)


if __name__ == "__main__":
    main()

"""Prices for car ferries. A demand network learns from bookings how many cars come at a price, and each round the best
price from a grid is set for every route. A smoothed error on sailings that it never learns from shows for each route
whether the network still knows its passengers.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn
from torch.nn import functional as F

ROUTES = "Oban-Craignure", "Mallaig-Armadale", "Uig-Lochmaddy", "Troon-Brodick"
FEATURES, HIDDEN, BATCH, HELD_OUT = 12, 128, 256, 1500


class Demand(nn.Module):
    """The log of the number of cars for a sailing at a price."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(FEATURES + 1, HIDDEN), nn.SiLU(),
            nn.Linear(HIDDEN, HIDDEN), nn.SiLU(),
            nn.Linear(HIDDEN, 1),
        )

    def forward(self, sailings, prices):
        return self.layers(torch.cat([sailings, prices[:, None]], dim=1)).squeeze(1)


class Gauge:
    """A smoothed error for each route."""

    def __init__(self, share=0.1):
        self.share = share
        self.errors = {}

    def add(self, route, error):
        before = self.errors.get(route, error)
        self.errors[route] = (1 - self.share) * before + self.share * error

    def __str__(self):
        return ", ".join(f"{route} {error:.3f}" for route, error in self.errors.items())


class Bookings:
    """Made-up bookings of a route: what the sailing was like, its price, and the cars that came."""

    def __init__(self, device):
        self.taste = torch.randn(FEATURES, device=device) * 0.2
        self.slope = 0.02 + 0.02 * torch.rand((), device=device)

    def draw(self, count):
        sailings = torch.randn(count, FEATURES, device=self.taste.device)
        prices = 20 + 60 * torch.rand(count, device=self.taste.device)
        rate = torch.exp(4 + sailings @ self.taste - self.slope * prices)
        return sailings, prices / 50, torch.poisson(rate)


def best_price(model, sailing, grid):
    """The price of the grid that brings in the most."""
    with torch.no_grad():
        cars = model(sailing.expand(len(grid), -1), grid).exp()
        return 50 * grid[(cars * grid).argmax()].item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    routes = {route: Bookings(device) for route in ROUTES}
    held_out = {route: bookings.draw(HELD_OUT) for route, bookings in routes.items()}
    models = {route: Demand().to(device) for route in ROUTES}
    optimizers = {route: torch.optim.Adam(model.parameters(), lr=2e-3) for route, model in models.items()}
    grid, gauge, rounds = torch.linspace(0.4, 1.6, 49, device=device), Gauge(), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        for route, bookings in routes.items():
            model, optimizer = models[route], optimizers[route]
            sailings, prices, cars = bookings.draw(BATCH)
            loss = F.poisson_nll_loss(model(sailings, prices), cars)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            sailings, prices, cars = held_out[route]
            expected = model(sailings, prices).exp()
            gauge.add(route, (expected - cars).abs().mean().item())
        rounds += 1
        if rounds % 10 == 0:
            tonight = {route: best_price(models[route], held_out[route][0][:1], grid) for route in ROUTES}
            print(f"round {rounds}: error {gauge}; first price {tonight[ROUTES[0]]:.2f}", flush=True)
        time.sleep(0.35)


if __name__ == "__main__":
    main()

"""Deck planning at a ferry port.

The port serves many routes, and on each of them the vehicles that queue up (kinds, lengths, trailers) are known by
codes. A table of vehicle features for each route was fitted last season; this season a small planner learns from
the finished loadings how much of the deck a queue will take.

ticket: practice
class: app-leak
holder: tables grad
cause: gradients-never-zeroed
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

ROUTES = 64
CODES = 3000
WIDTH = 32
QUEUE = 40
SAILINGS = 8                 # queues of a route that load at the same time
ROUTES_PER_ROUND = 8
ROUNDS_PER_SECOND = 16


class VehicleTables(nn.Module):
    """Features of the vehicle codes, a table for each route."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(CODES, WIDTH, sparse=True) for _ in range(ROUTES))

    def forward(self, route, codes):
        return self.tables[route](codes)


class DeckPlanner(nn.Module):
    """Share of the deck that a queue of vehicles will take."""

    def __init__(self):
        super().__init__()
        self.vehicles = VehicleTables()
        self.pairing = nn.Sequential(nn.Linear(WIDTH, 96), nn.GELU(), nn.Linear(96, 48))
        self.deck = nn.Sequential(nn.LayerNorm(48), nn.Linear(48, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, route, codes):
        features = self.vehicles(route, codes)
        return torch.sigmoid(self.deck(self.pairing(features).mean(1))).squeeze(-1)


class Harbourmaster:
    """Finished loadings: codes of the queues and the share of the deck that they took."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.lengths = torch.rand(ROUTES, CODES, device=DEVICE, generator=self.generator)

    def loading(self, route):
        codes = torch.randint(0, CODES, (SAILINGS, QUEUE), device=DEVICE, generator=self.generator)
        taken = self.lengths[route][codes].mean(1)
        return codes, (taken * 1.4 - 0.2).clamp(0.0, 1.0)


class Season:
    def __init__(self, seed=17):
        torch.manual_seed(seed)
        self.master = Harbourmaster(seed)
        self.planner = DeckPlanner().to(DEVICE)
        trained = list(self.planner.pairing.parameters()) + list(self.planner.deck.parameters())
        self.optimizer = torch.optim.AdamW(trained, lr=1e-3)
        self.rate = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.9995)
        self.rounds = 0
        self.error = 0.0

    def routes_now(self):
        first = self.rounds * ROUTES_PER_ROUND
        return [(first + offset) % ROUTES for offset in range(ROUTES_PER_ROUND)]

    def learn(self):
        """One step over the loadings of the routes that sail in this round."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = []
        for route in self.routes_now():
            codes, taken = self.master.loading(route)
            planned = self.planner(route, codes)
            losses.append(nn.functional.mse_loss(planned, taken))
        loss = torch.stack(losses).mean()
        loss.backward()  # grows keeps
        self.optimizer.step()
        self.rate.step()
        self.rounds += 1
        self.error += 0.05 * (float(loss.detach()) ** 0.5 - self.error)

    @torch.no_grad()
    def plan(self, route):
        """Share that the present queue of a route would take, for the stewards."""
        codes, _ = self.master.loading(route)
        return float(self.planner(route, codes).mean())


def main():
    season = Season()
    begin = time.monotonic()
    next_print = begin + 3.0
    while time.monotonic() - begin < SECONDS:
        started = time.monotonic()
        season.learn()
        if started >= next_print:
            share = season.plan(season.rounds % ROUTES)
            print(f"round {season.rounds}  error {season.error:.4f}  deck planned {share:.3f}", flush=True)
            next_print += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - started)))
    print(f"season over after {season.rounds} rounds, error {season.error:.4f}", flush=True)


if __name__ == "__main__":
    main()

"""Forecast of flange wear at a tram depot.

Every night the wheels of the trams are measured by a laser gauge in the depot's floor. A small network learns from
these profiles how the flange will look after another week in service. From time to time it is tried on the profiles
set aside, and the best few states of the network make up the committee that plans the work of the wheel lathe.

    ticket: practice
    class: app-leak
    holder: _weights
    cause: snapshots-kept
"""
import bisect
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
TRIAL_EVERY = 2
COMMITTEE = 6
FEATURES, HIDDEN, PROFILE = 48, 512, 200
BATCH = 96


class GaugePit:
    """Draws measured wheels and what became of their flanges a week later."""

    def __init__(self, seed):
        self.rng = torch.Generator(device=DEVICE).manual_seed(seed)
        self.law = torch.randn(FEATURES, PROFILE, generator=self.rng, device=DEVICE) / FEATURES ** 0.5

    def measure(self, wheels):
        features = torch.randn(wheels, FEATURES, generator=self.rng, device=DEVICE)
        noise = torch.randn(wheels, PROFILE, generator=self.rng, device=DEVICE)
        return features, torch.tanh(features @ self.law) + 0.1 * noise


class Committee:
    """The best states of the network so far, best first."""

    def __init__(self, line, seats):
        self.line = line
        self.seats = seats
        self._ranking = []
        self._weights = {}

    def tag(self, step):
        return f"{self.line}-{step:05d}"

    def propose(self, step, error, network):
        state = {}
        for name, value in network.state_dict().items():
            state[name] = value.detach().clone()  # grows
        self._weights[self.tag(step)] = state  # keeps
        bisect.insort(self._ranking, (error, step))
        while len(self._ranking) > self.seats:
            _, retired = self._ranking.pop()
            self._weights.pop(retired, None)

    def members(self):
        return [(error, self._weights[self.tag(step)]) for error, step in self._ranking]

    def worst_error(self):
        return self._ranking[-1][0] if self._ranking else float("inf")


class Forecaster:
    def __init__(self, pit):
        self.pit = pit
        self.network = nn.Sequential(
            nn.Linear(FEATURES, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, HIDDEN), nn.GELU(), nn.Linear(HIDDEN, PROFILE)
        ).to(DEVICE)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.05, momentum=0.9)
        self.trial_set = pit.measure(256)
        self.committee = Committee("line4", COMMITTEE)
        self.step = 0

    def learn(self):
        features, later = self.pit.measure(BATCH)
        loss = nn.functional.mse_loss(self.network(features), later)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.step += 1
        return loss.item()

    @torch.no_grad()
    def trial(self):
        features, later = self.trial_set
        error = nn.functional.mse_loss(self.network(features), later).item()
        self.committee.propose(self.step, error, self.network)
        return error

    @torch.no_grad()
    def spread(self):
        """How far the last layers of the committee lie apart."""
        last = [state["4.weight"] for _, state in self.committee.members()]
        return torch.stack(last).std(dim=0, unbiased=False).mean().item()


def main():
    torch.manual_seed(21)
    forecaster = Forecaster(GaugePit(seed=1435))
    start = time.monotonic()
    error = float("nan")
    while time.monotonic() - start < SECONDS:
        loss = forecaster.learn()
        if forecaster.step % TRIAL_EVERY == 0:
            error = forecaster.trial()
        if forecaster.step % 24 == 0:
            print(f"step {forecaster.step}: loss {loss:.4f}, trial {error:.4f}, "
                  f"committee up to {forecaster.committee.worst_error():.4f}, spread {forecaster.spread():.6f}",
                  flush=True)
        time.sleep(max(0.0, start + forecaster.step / ROUNDS_PER_SECOND - time.monotonic()))
    print(f"{forecaster.step} steps, {len(forecaster.committee.members())} members for the lathe", flush=True)


if __name__ == "__main__":
    main()

"""Spring migration of semi-domestic reindeer between the winter forest and the coast.

A small network learns, from snow depth, lichen cover and wind along the route, how far eight herds drift in a day.
Every few rounds the forecast is checked against a held-out set of days, and the best forecasters are ranked, so that
the herders can go back to a better one when the weather turns.

ticket: practice
class: host-growth
holder: _weights
cause: snapshots-kept
"""
import os
import time

import numpy as np
import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "45"))
ROUNDS_PER_SECOND = 8
FEATURES = 96
HERDS = 8
TOP = 3


class Route:
    """Weather and pasture along the migration route, one row for each simulated day."""

    def __init__(self, days, seed):
        self._rng = np.random.default_rng(seed)
        self._truth = self._rng.normal(0.0, 0.3, (FEATURES, HERDS)).astype(np.float32)
        self.days = self._rng.normal(0.0, 1.0, (days, FEATURES)).astype(np.float32)

    def drift(self, rows):
        pull = np.tanh(rows @ self._truth)
        gusts = self._rng.normal(0.0, 0.05, pull.shape).astype(np.float32)
        return pull + gusts

    def sample(self, count):
        rows = self.days[self._rng.integers(0, len(self.days), count)]
        return torch.from_numpy(rows), torch.from_numpy(self.drift(rows))


class DriftNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(FEATURES, 768)
        self.mix = nn.Linear(768, 1024)
        self.head = nn.Linear(1024, HERDS)

    def forward(self, rows):
        hidden = torch.relu(self.encode(rows))
        hidden = torch.relu(self.mix(hidden))
        return self.head(hidden)


class Ranking:
    """Orders forecasters by their held-out error, the best first."""

    def __init__(self, top):
        self.top = top
        self._order = []
        self._weights = {}

    def offer(self, step, error, net):
        state = {name: value.detach().clone() for name, value in net.state_dict().items()}  # grows
        self._weights[step] = state  # keeps
        self._order.append((error, step))
        self._order.sort()
        del self._order[self.top:]

    def best(self):
        error, step = self._order[0]
        return step, error, self._weights[step]

    def __len__(self):
        return len(self._order)


class Trainer:
    def __init__(self, route):
        self.route = route
        self.net = DriftNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.ranking = Ranking(TOP)
        self.held_out = route.sample(96)
        self.stale = 0

    def train_step(self):
        rows, drift = self.route.sample(24)
        loss = nn.functional.smooth_l1_loss(self.net(rows), drift)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self, step):
        rows, drift = self.held_out
        error = (self.net(rows) - drift).abs().mean().item()
        self.ranking.offer(step, error, self.net)
        best_step, best_error, best_state = self.ranking.best()
        self.stale = 0 if best_step == step else self.stale + 1
        if self.stale >= 12 and error > 1.5 * best_error:
            self.net.load_state_dict(best_state)
            self.stale = 0
        return error


def main():
    torch.manual_seed(11)
    torch.set_num_threads(1)
    trainer = Trainer(Route(days=60_000, seed=11))
    end = time.monotonic() + SECONDS
    report_at = time.monotonic() + 3.0
    step, loss, error = 0, 0.0, 0.0
    while time.monotonic() < end:
        began = time.monotonic()
        step += 1
        loss = trainer.train_step()
        if step % 4 == 0:
            error = trainer.validate(step)
        if time.monotonic() >= report_at:
            print(f"step {step}: loss {loss:.4f}, held-out drift error {error:.4f}", flush=True)
            report_at += 3.0
        time.sleep(max(0.005, 1.0 / ROUNDS_PER_SECOND - (time.monotonic() - began)))
    if len(trainer.ranking):
        best_step, best_error, _ = trainer.ranking.best()
        print(f"done after {step} steps, best at step {best_step} with error {best_error:.4f}", flush=True)
    else:
        print(f"done after {step} steps", flush=True)


if __name__ == "__main__":
    main()

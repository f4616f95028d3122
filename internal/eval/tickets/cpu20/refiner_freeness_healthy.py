"""Soft sensor for the freeness of refined pulp in a paper mill.

Freeness is measured in the laboratory only now and then, so a small network foretells it from the load, the plate
gap, the consistency and some forty other signals of the refiners. The mill drifts, hence training never stops. When
the error of the sensor rises sharply after a change of furnish, it goes back to the best weights of the last nine
seconds.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch
from torch import nn
from torch.nn import functional as F

SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 12
ROUNDS_PER_SAVE = 3
SIGNALS, WIDTH = 44, 512
HISTORY_ROWS = 160_000
BATCH = 128
KEEP_SECONDS = 9.0


class Mill:
    """The past of the refiners and their present drift."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        self._signals = torch.randn(HISTORY_ROWS, SIGNALS, generator=self._generator)
        self._mixing = torch.randn(SIGNALS, generator=self._generator) / SIGNALS ** 0.5
        self._furnish = 1.0

    def drift(self, turn):
        if turn % 150 == 149:
            self._furnish = -self._furnish
        self._mixing += 0.002 * torch.randn(SIGNALS, generator=self._generator)

    def sample(self):
        rows = torch.randint(HISTORY_ROWS, (BATCH,), generator=self._generator)
        signals = self._signals[rows]
        freeness = torch.tanh(signals @ self._mixing) + 0.1 * self._furnish * signals[:, 0]
        return signals, freeness


class RollbackShelf:
    """Weights of the sensor over the last seconds, each with the error at that moment."""

    def __init__(self, keep_seconds):
        self._keep_seconds = keep_seconds
        self._weights = {}
        self._order = deque()

    def save(self, turn, now, error, net):
        weights = {name: value.clone() for name, value in net.state_dict().items()}
        self._weights[turn] = weights
        self._order.append((now, f"{turn:06d}", error))
        while now - self._order[0][0] > self._keep_seconds:
            _, oldest, _ = self._order.popleft()
            self._weights.pop(int(oldest), None)

    def best(self):
        if not self._order:
            return None
        _, turn, _ = min(self._order, key=lambda entry: entry[2])
        return self._weights[int(turn)]


class FreenessSensor:
    def __init__(self, seed):
        torch.manual_seed(seed)
        self._mill = Mill(seed)
        self._net = nn.Sequential(
            nn.Linear(SIGNALS, WIDTH), nn.Tanh(),
            nn.Linear(WIDTH, WIDTH), nn.Tanh(),
            nn.Linear(WIDTH, 1),
        )
        self._optimizer = torch.optim.SGD(self._net.parameters(), lr=0.03)
        self._shelf = RollbackShelf(KEEP_SECONDS)
        self.error = 1.0
        self.returns = 0

    def learn(self):
        signals, freeness = self._mill.sample()
        loss = F.mse_loss(self._net(signals).squeeze(1), freeness)
        self._optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self._optimizer.step()
        return loss.item()

    def step(self, turn, now):
        self._mill.drift(turn)
        loss = self.learn()
        if loss > 2.5 * self.error and turn > 60:
            self.go_back()
        self.error += 0.1 * (loss - self.error)
        if turn % ROUNDS_PER_SAVE == 0:
            self._shelf.save(turn, now, self.error, self._net)

    def go_back(self):
        weights = self._shelf.best()
        if weights is not None:
            self._net.load_state_dict(weights)
            self.returns += 1


def main():
    torch.set_num_threads(1)
    sensor = FreenessSensor(seed=450)
    start = time.monotonic()
    next_print = 2.0
    turn = 0
    while (now := time.monotonic() - start) < SECONDS:
        sensor.step(turn, now)
        turn += 1
        if now >= next_print:
            print(f"{now:6.1f} s  turn {turn}  error {sensor.error:.4f}  returns {sensor.returns}", flush=True)
            next_print += 2.0
        time.sleep(max(0.0, turn / ROUNDS_PER_SECOND - (time.monotonic() - start)))
    print(f"sensor stopped after {turn} turns, error {sensor.error:.4f}, returns {sensor.returns}", flush=True)


if __name__ == "__main__":
    main()

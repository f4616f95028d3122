"""Warmth of the brood nest, learned from probes between the frames.

A beekeeper has put rows of small probes into every hive. A network turns
one sweep of the probes into a code of the nest and predicts the next sweep
from it. The codes of the quiet test hive are averaged slowly, and training
is drawn a little towards that average so that the hives stay comparable.

ticket: practice
class: none
"""

import os
import time

import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUND = 1.0 / 5.0
PROBES = 24
SWEEPS = 256
WIDTH = 1024
CODE = 32
HIVES = 40


class Apiary:
    """Sweeps of probes from all hives, drawn from a bank made at the start."""

    def __init__(self, seed):
        self._generator = torch.Generator().manual_seed(seed)
        position = torch.linspace(-1.0, 1.0, PROBES)
        centre = torch.rand(HIVES, 8192, 1, generator=self._generator) * 0.8 - 0.4
        spread = torch.rand(HIVES, 1, 1, generator=self._generator) * 0.3 + 0.2
        nest = torch.exp(-((position - centre) ** 2) / spread)
        self._bank = (nest * 15.0 + 20.0).to(DEVICE)

    def sweeps(self, hive):
        row = torch.randint(0, 8192 - SWEEPS - 1, (1,), generator=self._generator).item()
        now = self._bank[hive, row:row + SWEEPS]
        later = self._bank[hive, row + 1:row + SWEEPS + 1]
        return (now - 27.0) / 8.0, (later - 27.0) / 8.0

    def any_hive(self):
        return torch.randint(1, HIVES, (1,), generator=self._generator).item()


class NestModel(nn.Module):
    """Encoder and predictor for one sweep of the probes."""

    def __init__(self):
        super().__init__()
        self.inlet = nn.Linear(PROBES, WIDTH)
        self.outlet = nn.Linear(WIDTH, CODE)
        self.predictor = nn.Linear(CODE, PROBES)

    def encode(self, sweeps):
        hidden = torch.tanh(self.inlet(sweeps))
        return self.outlet(hidden)

    def forward(self, sweeps):
        code = self.encode(sweeps)
        return code, self.predictor(code)


class ColonyReference:
    """Slow average of the codes of the test hive."""

    def __init__(self, model, decay):
        self.model = model
        self.decay = decay
        self.reference = torch.zeros(CODE, device=DEVICE)

    def update(self, sweeps):
        code = self.model.encode(sweeps).mean(dim=0)
        self.reference = self.decay * self.reference + (1.0 - self.decay) * code.detach()

    def distance(self, code):
        return ((code - self.reference.detach()) ** 2).mean()


class Trainer:
    def __init__(self, apiary, model):
        self.apiary = apiary
        self.model = model
        self.colony = ColonyReference(model, decay=0.95)
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        self.smoothed = None

    def train_round(self):
        now, later = self.apiary.sweeps(self.apiary.any_hive())
        code, predicted = self.model(now)
        loss = ((predicted - later) ** 2).mean() + 0.05 * self.colony.distance(code)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        self.smoothed = value if self.smoothed is None else 0.95 * self.smoothed + 0.05 * value

    def observe_test_hive(self):
        now, _ = self.apiary.sweeps(0)
        self.colony.update(now)


def main():
    torch.manual_seed(8)
    trainer = Trainer(Apiary(seed=21), NestModel().to(DEVICE))
    start = time.monotonic()
    rounds = 0
    while time.monotonic() - start < SECONDS:
        trainer.train_round()
        trainer.observe_test_hive()
        rounds += 1
        if rounds % 15 == 0:
            norm = float(trainer.colony.reference.norm())
            print(f"round {rounds:4d}  loss {trainer.smoothed:.4f}  reference {norm:.3f}", flush=True)
        time.sleep(max(0.0, start + rounds * ROUND - time.monotonic()))
    print(f"season ends after {rounds} rounds, loss {trainer.smoothed:.4f}", flush=True)


if __name__ == "__main__":
    main()

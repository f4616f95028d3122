"""Throttle tuning on a club's model railway.

Each locomotive answers its decoder steps in its own way. A small network learns, from the block detectors of
the layout, which motor voltage gives which scale speed; a bench runs all locomotives side by side and smooths
their estimated speeds over the laps, so that the dispatcher can set trains that keep their distance.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
LAPS_PER_SECOND = 10
LOCOMOTIVES = 512
FEATURES = 8
HIDDEN = 128
SMOOTHING = 0.9
LOG_ROWS = 400_000
LESSON_ROWS = 1024


class DetectorLog:
    """Recorded passes over the block detectors: decoder state and measured speed."""

    def __init__(self, seed: int):
        generator = torch.Generator().manual_seed(seed)
        self.states = torch.rand(LOG_ROWS, FEATURES, generator=generator).to(DEVICE)
        stiction = (self.states[:, 1] * 0.2).unsqueeze(1)
        self.speeds = (self.states[:, :1] - stiction).clamp(min=0.0) * (1.2 - 0.4 * self.states[:, 2:3])
        self._generator = generator

    def lesson(self) -> tuple[torch.Tensor, torch.Tensor]:
        rows = torch.randint(LOG_ROWS, (LESSON_ROWS,), generator=self._generator).to(DEVICE)
        return self.states[rows], self.speeds[rows]


def build_estimator() -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(FEATURES, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, 1),
    ).to(DEVICE)


class ThrottleTrainer:
    """Fits the estimator to the log, one lesson at a time."""

    def __init__(self, estimator: nn.Module, log: DetectorLog):
        self.estimator = estimator
        self.log = log
        self.optimizer = torch.optim.Adam(estimator.parameters(), lr=2e-3)

    def step(self) -> float:
        states, speeds = self.log.lesson()
        loss = nn.functional.smooth_l1_loss(self.estimator(states), speeds)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item()


class TestBench:
    """Runs every locomotive of the club and follows its speed."""

    def __init__(self, estimator: nn.Module, seed: int):
        self.estimator = estimator
        self._generator = torch.Generator(device=DEVICE)
        self._generator.manual_seed(seed)
        self._decoders = torch.rand(LOCOMOTIVES, FEATURES, generator=self._generator, device=DEVICE)
        self._smoothed = torch.zeros(LOCOMOTIVES, 1, device=DEVICE)
        self.laps = 0

    def _read_decoders(self) -> torch.Tensor:
        jitter = torch.randn(LOCOMOTIVES, FEATURES, generator=self._generator, device=DEVICE)
        return (self._decoders + 0.01 * jitter).clamp_(0.0, 1.0)

    def lap(self) -> None:
        decoders = self._read_decoders()
        estimate = self.estimator(decoders)
        self._smoothed = SMOOTHING * self._smoothed + (1.0 - SMOOTHING) * estimate.detach()
        self.laps += 1

    def slowest(self) -> tuple[int, float]:
        speed, index = self._smoothed.squeeze(1).min(dim=0)
        return int(index), speed.item()

    def spread(self) -> float:
        return self._smoothed.std().item()


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(5)
    estimator = build_estimator()
    trainer = ThrottleTrainer(estimator, DetectorLog(seed=6))
    bench = TestBench(estimator, seed=7)
    started = time.monotonic()
    due = started
    next_report = started + 3.0
    loss = 0.0
    while time.monotonic() - started < SECONDS:
        loss = trainer.step()
        bench.lap()
        if time.monotonic() >= next_report:
            index, speed = bench.slowest()
            print(f"lap {bench.laps}: loss {loss:.5f}, locomotive {index} is the slowest at {speed:.3f}, "
                  f"spread {bench.spread():.3f}", flush=True)
            next_report += 3.0
        due += 1.0 / LAPS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"bench stopped after {bench.laps} laps, last loss {loss:.5f}", flush=True)


if __name__ == "__main__":
    main()

"""Trials of a lever escapement.

A watch maker varies the draw, the lock and the drop of an escapement and watches how the balance swings. Each trial
integrates a bench of balances that receive an impulse at every half swing; its recorder samples the swings, and
amplitude and beat error are read from the samples. The settings with the smallest beat error lead the search.

ticket: practice
class: app-leak
holder: traces trial recorder
cause: reference-cycle
"""
import gc
import os
import time
from dataclasses import dataclass

import torch

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
TRIALS_PER_SECOND = 12
BALANCES = 1024
SAMPLES = 128
SUBSTEPS = 2
TIME_STEP = 0.05


@dataclass(frozen=True)
class Setting:
    draw: float
    lock: float
    drop: float

    def changed(self, draws):
        steps = (0.1 * torch.randn(3, generator=draws)).tolist()
        return Setting(*(min(2.0, max(0.1, old + step))
                         for old, step in zip((self.draw, self.lock, self.drop), steps)))


class SwingRecorder:
    """Samples the angles of a trial's balances."""

    def __init__(self, trial):
        self.trial = trial  # keeps
        self.traces = torch.empty(SAMPLES, BALANCES, device=DEVICE)  # grows
        self.filled = 0

    def sample(self):
        self.traces[self.filled] = self.trial.angle
        self.filled += 1

    def amplitude(self):
        return self.traces[:self.filled].abs().amax(0)

    def beat_error(self):
        above = (self.traces[:self.filled] > 0.0).float().mean(0)
        return (above - 0.5).abs() + 0.02 * self.trial.setting.drop


class Trial:
    """One setting of the escapement on a bench of balances."""

    def __init__(self, setting, bench):
        self.setting = setting
        self.angle = bench.start_angle.clone()
        self.speed = torch.zeros_like(self.angle)
        self.stiffness = bench.stiffness
        self.recorder = SwingRecorder(self)

    def step(self):
        crossing = self.angle.abs() < 0.05 + 0.1 * self.setting.lock
        impulse = torch.where(crossing, 0.3 * self.setting.draw * torch.sign(self.speed), torch.zeros_like(self.speed))
        pull = -self.stiffness * self.angle - 0.04 * self.speed + impulse - 0.002 * self.setting.drop
        self.speed += TIME_STEP * pull
        self.angle += TIME_STEP * self.speed

    def run(self):
        for _ in range(SAMPLES):
            for _ in range(SUBSTEPS):
                self.step()
            self.recorder.sample()
        return float(self.recorder.beat_error().mean()), float(self.recorder.amplitude().mean())


class Bench:
    """The balances at hand: their springs and the angle at which they are let go."""

    def __init__(self, seed):
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.stiffness = 0.9 + 0.2 * torch.rand(BALANCES, device=DEVICE, generator=generator)
        self.start_angle = 2.0 + 0.3 * torch.randn(BALANCES, device=DEVICE, generator=generator)


class Search:
    """Goes on from the best setting so far."""

    def __init__(self, bench, seed):
        self.bench = bench
        self.draws = torch.Generator().manual_seed(seed)
        self.best = Setting(1.0, 1.0, 1.0)
        self.error = float("inf")
        self.amplitude = 0.0

    def next_trial(self):
        setting = self.best.changed(self.draws)
        error, amplitude = Trial(setting, self.bench).run()
        if error < self.error:
            self.best, self.error, self.amplitude = setting, error, amplitude


def main():
    torch.set_num_threads(1)
    search = Search(Bench(13), 19)
    gc.disable()  # no pauses between the beats
    start = time.monotonic()
    trials = 0
    while time.monotonic() - start < SECONDS:
        search.next_trial()
        trials += 1
        if trials % (3 * TRIALS_PER_SECOND) == 0:
            print(f"trial {trials}: beat error {search.error:.4f}, amplitude {search.amplitude:.2f}, "
                  f"draw {search.best.draw:.2f}", flush=True)
        time.sleep(max(0.0, start + trials / TRIALS_PER_SECOND - time.monotonic()))
    print(f"search ended after {trials} trials with {search.best}", flush=True)


if __name__ == "__main__":
    main()

"""Regulating watches with a small network.

A watch maker trims the hairspring and the screws of the balance until the watch keeps time in every position. The
network learns the daily rate of a movement from measurements of its spring and balance; every few steps it is
examined on movements that were set aside, and the mean of the best few versions is what the bench uses.

ticket: practice
class: app-leak
holder: versions
cause: snapshots-kept
"""
import os
import time

import torch
from torch import nn

SECONDS = float(os.environ.get("SECONDS", "120"))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
STEPS_PER_SECOND = 12
EXAM_EVERY = 3
MEASURES = 64
BATCH = 128
KEEP = 5


class Workshop:
    """Makes movements: measurements of spring and balance, and the rate that follows from them."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.stiffness = torch.randn(MEASURES, device=DEVICE, generator=self.generator) / MEASURES ** 0.5
        self.inertia = torch.randn(MEASURES, device=DEVICE, generator=self.generator) / MEASURES ** 0.5

    def movements(self, count):
        measured = torch.randn(count, MEASURES, device=DEVICE, generator=self.generator)
        swing = torch.tanh(measured @ self.stiffness) - 0.5 * torch.sin(measured @ self.inertia)
        noise = 0.05 * torch.randn(count, device=DEVICE, generator=self.generator)
        return measured, swing + noise


class RateNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(MEASURES, 512), nn.GELU(),
            nn.Linear(512, 512), nn.GELU(),
            nn.Linear(512, 192), nn.GELU(),
        )
        self.rate = nn.Linear(192, 1)

    def forward(self, measured):
        return self.rate(self.body(measured)).squeeze(-1)


class BenchVersions:
    """Versions of the network with their errors in the exam, the best first."""

    def __init__(self, keep):
        self.keep = keep
        self._versions = []

    def enter(self, error, step, network):
        weights = {name: value.detach().clone() for name, value in network.state_dict().items()}  # grows
        self._versions.append((error, step, weights))  # keeps
        self._versions.sort(key=lambda version: version[:2])

    def best(self):
        return self._versions[:self.keep]

    def mean_weights(self):
        chosen = [weights for _, _, weights in self.best()]
        return {name: torch.stack([weights[name] for weights in chosen]).mean(0) for name in chosen[0]}


class Regulator:
    """Training of the network and the exam on movements set aside."""

    def __init__(self, workshop):
        self.workshop = workshop
        self.network = RateNetwork().to(DEVICE)
        self.bench = RateNetwork().to(DEVICE)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-3)
        self.aside = workshop.movements(512)

    def train_step(self):
        measured, rate = self.workshop.movements(BATCH)
        error = nn.functional.mse_loss(self.network(measured), rate)
        self.optimizer.zero_grad(set_to_none=True)
        error.backward()
        self.optimizer.step()
        return float(error.detach())

    @torch.no_grad()
    def exam(self, network):
        measured, rate = self.aside
        return float(nn.functional.mse_loss(network(measured), rate))

    def equip_bench(self, versions):
        self.bench.load_state_dict(versions.mean_weights())
        return self.exam(self.bench)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(71)
    regulator = Regulator(Workshop(3))
    versions = BenchVersions(KEEP)
    start = time.monotonic()
    step, error = 0, float("nan")
    while time.monotonic() - start < SECONDS:
        error = regulator.train_step()
        step += 1
        if step % EXAM_EVERY == 0:
            versions.enter(regulator.exam(regulator.network), step, regulator.network)
        if step % (3 * STEPS_PER_SECOND) == 0:
            bench = regulator.equip_bench(versions)
            best = [number for _, number, _ in versions.best()]
            print(f"step {step}: error {error:.4f}, bench {bench:.4f} from steps {best}", flush=True)
        time.sleep(max(0.0, start + step / STEPS_PER_SECOND - time.monotonic()))
    print(f"regulated after {step} steps, last error {error:.4f}", flush=True)


if __name__ == "__main__":
    main()

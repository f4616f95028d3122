"""Training of a model for the roller stands of a flour mill.

From the spectrum of the vibrations of a pair of fluted rollers the model foretells the particle
sizes behind the stand. The spectra come from a simulated mill whose rollers wear slowly. When the
loss jumps after a change of the grist, training goes back to a restore point taken before.

ticket: practice
class: none
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 5
POINT_EVERY = 30
POINTS = 2
BINS = 512
SIZES = 160
BATCH = 16

torch.set_num_threads(1)


class RollerStand:
    """A simulated stand: spectra of the vibrations and the sizes behind it."""

    def __init__(self, seed):
        self.generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self.response = torch.randn(BINS, SIZES, generator=self.generator, device=DEVICE) / BINS ** 0.5
        self.wear = torch.zeros(BINS, device=DEVICE)

    def batch(self):
        spectra = torch.randn(BATCH, BINS, generator=self.generator, device=DEVICE)
        self.wear.add_(0.001 * spectra.mean(dim=0))
        sizes = torch.tanh((spectra + self.wear) @ self.response)
        return spectra, sizes


def build_model():
    torch.manual_seed(17)
    return nn.Sequential(
        nn.Linear(BINS, 2048),
        nn.ReLU(),
        nn.Linear(2048, 3072),
        nn.ReLU(),
        nn.Linear(3072, SIZES),
    ).to(DEVICE)


class RestorePoints:
    """Weights of the model at chosen steps, to go back to."""

    def __init__(self, model, every, count):
        self.model = model
        self.every = every
        self.count = count
        self._points = {}

    def due(self, step):
        return step % self.every == 0

    def take(self, step):
        weights = {}
        for name, value in self.model.state_dict().items():
            weights[name] = value.detach().clone()
        self._points[step] = weights
        self._points.pop(step - self.count * self.every, None)

    def newest(self):
        return max(self._points)

    def go_back(self):
        step = self.newest()
        self.model.load_state_dict(self._points[step])
        return step


class Trainer:
    def __init__(self, model, stand, points):
        self.model = model
        self.stand = stand
        self.points = points
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.8)
        self.mean_loss = None
        self.returns = 0

    def step(self):
        spectra, sizes = self.stand.batch()
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(spectra), sizes)
        loss.backward()
        self.optimizer.step()
        value = loss.item()
        if self.mean_loss is not None and value > 4.0 * self.mean_loss:
            self.points.go_back()
            self.returns += 1
        self.mean_loss = value if self.mean_loss is None else 0.95 * self.mean_loss + 0.05 * value
        return value


def main():
    stand = RollerStand(seed=23)
    model = build_model()
    points = RestorePoints(model, POINT_EVERY, POINTS)
    trainer = Trainer(model, stand, points)
    start = time.monotonic()
    last_line = start
    step = 0
    while time.monotonic() - start < SECONDS:
        if points.due(step):
            points.take(step)
        trainer.step()
        step += 1
        now = time.monotonic()
        if now - last_line >= 3.0:
            last_line = now
            print(f"{now - start:6.1f} s  step {step}  mean loss {trainer.mean_loss:.4f}"
                  f"  restore point {points.newest()}  returns {trainer.returns}", flush=True)
        time.sleep(max(0.0, start + step / STEPS_PER_SECOND - time.monotonic()))
    print(f"training ends at step {step} with a mean loss of {trainer.mean_loss:.4f}", flush=True)


if __name__ == "__main__":
    main()

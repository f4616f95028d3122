"""Light timing for the contact printer of a film laboratory.

Every shot of a negative gets three printer lights (red, green, blue). The timer fits them on a proxy of the
negative so that the print lands on the aim density, makes a proof of the shot and, when the reel is complete,
writes the timing card with the lights and the spread of the proofs.

ticket: practice
class: none
"""
import os
import time
from dataclasses import dataclass

import torch

torch.set_num_threads(1)
torch.manual_seed(4711)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
SHOTS_PER_SECOND = 10
SHOTS_PER_REEL = 25
HEIGHT, WIDTH = 192, 273
AIM = (1.09, 1.06, 1.03)


@dataclass
class Proof:
    shot: int
    lights: tuple
    density: torch.Tensor
    error: float


@dataclass
class TimingCard:
    reel: int
    shots: int
    mean_lights: tuple
    spread: float


class Negative:
    """A negative with an uneven exposure from shot to shot."""

    def __init__(self):
        self.base = torch.rand(3, HEIGHT, WIDTH, device=DEVICE) * 1.2 + 0.2
        self.vignette = torch.linspace(-1, 1, WIDTH, device=DEVICE).square() * 0.1

    def scan(self, shot):
        exposure = 0.15 * torch.sin(torch.tensor(shot / 7.0 + 0.5, device=DEVICE))
        return self.base.roll(shot % WIDTH, dims=2) + exposure - self.vignette


class PrintStock:
    """The characteristic curve of the positive stock, one gamma for each layer."""

    def __init__(self):
        self.gamma = torch.tensor([2.9, 3.0, 3.1], device=DEVICE).view(3, 1, 1)
        self.dmax = 3.6

    def expose(self, negative, lights):
        log_exposure = lights.view(3, 1, 1) * 0.025 - negative
        return self.dmax * torch.sigmoid(self.gamma * log_exposure)


class LightTimer:
    def __init__(self, stock, steps=6):
        self.stock = stock
        self.steps = steps
        self.aim = torch.tensor(AIM, device=DEVICE)
        self.lights = torch.full((3,), 25.0, device=DEVICE)

    def fit(self, negative):
        proxy = negative[:, ::4, ::4]
        for _ in range(self.steps):
            got = self.stock.expose(proxy, self.lights).mean(dim=(1, 2))
            self.lights = (self.lights + 6.0 * (self.aim - got)).clamp(0, 50)
        return self.lights.clone()


class TimingDesk:
    """Keeps the proofs of the reel on the bench and closes it with a timing card."""

    def __init__(self):
        self.stock = PrintStock()
        self.timer = LightTimer(self.stock)
        self._proofs = []
        self.cards = 0

    def time_shot(self, shot, negative):
        lights = self.timer.fit(negative)
        density = self.stock.expose(negative, lights)
        error = (density.mean(dim=(1, 2)) - self.timer.aim).abs().max().item()
        proof = Proof(shot, tuple(round(v) for v in lights.tolist()), density, error)
        self._proofs.append(proof)
        return proof

    def close_reel(self):
        reel, self._proofs = self._proofs, []
        self.cards += 1
        mean = tuple(sum(p.lights[c] for p in reel) / len(reel) for c in range(3))
        levels = torch.stack([p.density.mean() for p in reel])
        return TimingCard(self.cards, len(reel), mean, levels.std().item())


@torch.no_grad()
def main():
    negative = Negative()
    desk = TimingDesk()
    started = time.monotonic()
    due = started
    shot = 0
    while time.monotonic() - started < SECONDS:
        proof = desk.time_shot(shot, negative.scan(shot))
        shot += 1
        if shot % SHOTS_PER_REEL == 0:
            card = desk.close_reel()
            lights = "-".join(f"{v:.0f}" for v in card.mean_lights)
            print(f"reel {card.reel}: {card.shots} shots, lights {lights}, spread {card.spread:.4f}, "
                  f"last error {proof.error:.3f}", flush=True)
        due += 1.0 / SHOTS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    print(f"timed {shot} shots on {desk.cards} cards", flush=True)


if __name__ == "__main__":
    main()

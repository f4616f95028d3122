"""Watches the repeat of a wallpaper pattern while the rolls run through the press.

An encoder turns the camera strips into features. For each roll the checker averages the features of its strips and
compares them with the proof that the designer signed; a roll that strays from the proof is set aside.

ticket: practice
class: app-leak
holder: hooks
cause: hooks-left
"""
import os
import time

import torch
from torch import nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
HEIGHT = 256
WIDTH = 512
FEATURES = 16
STRIPS_PER_ROLL = 5
TOLERANCE = 0.02
PAUSE = 0.06


class StripEncoder(nn.Module):
    """Fixed filters over a camera strip."""

    def __init__(self):
        super().__init__()
        self.edges = nn.Conv2d(3, FEATURES, 3, stride=2, padding=1)
        self.judge = nn.Conv2d(FEATURES, 1, 1)
        for weight in self.parameters():
            weight.requires_grad_(False)

    def forward(self, strip):
        return self.judge(torch.relu(self.edges(strip))).mean()


class Camera:
    """Strips of a pattern with a little drift of the register."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.pattern = torch.rand(1, 3, HEIGHT, WIDTH, generator=self.generator).to(DEVICE)
        self.shift = 0

    def next_roll(self):
        self.shift = int(torch.randint(0, 3, (1,), generator=self.generator))

    def strip(self):
        grain = 0.9 + 0.2 * float(torch.rand(1, generator=self.generator))
        return torch.roll(self.pattern, self.shift, dims=3) * grain


class RollCheck:
    """The averaged features of one roll."""

    def __init__(self, number, encoder):
        self.number = number
        self.strips = 0
        self.total = torch.zeros(FEATURES, HEIGHT // 2, WIDTH // 2, device=DEVICE)  # grows
        self.running = True
        self.handle = encoder.edges.register_forward_hook(self.observe)  # keeps

    def observe(self, module, inputs, output):
        if self.running:
            self.total += output[0]
            self.strips += 1

    def finish(self, proof):
        self.running = False
        self.total /= max(1, self.strips)
        return torch.mean(torch.abs(self.total - proof)).item()


class PressLine:
    def __init__(self):
        self.encoder = StripEncoder().to(DEVICE)
        self.camera = Camera(seed=31)
        self.proof = self.encoder.edges(self.camera.strip())[0]
        self.rolls = 0
        self.aside = 0
        self.distance = 0.0
        self.check = RollCheck(0, self.encoder)

    def advance(self):
        tone = self.encoder(self.camera.strip()).item()
        if self.check.strips >= STRIPS_PER_ROLL:
            self.change_roll()
        return tone

    def change_roll(self):
        self.distance = self.check.finish(self.proof)
        if self.distance > TOLERANCE:
            self.aside += 1
        self.rolls += 1
        self.camera.next_roll()
        self.check = RollCheck(self.rolls, self.encoder)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(8)
    line = PressLine()
    began = time.monotonic()
    spoken = began
    tone = 0.0
    while time.monotonic() - began < SECONDS:
        tone = line.advance()
        if time.monotonic() - spoken >= 3.0:
            spoken = time.monotonic()
            print(f"roll {line.rolls}: tone {tone:.4f}, last distance {line.distance:.4f}, "
                  f"aside {line.aside}", flush=True)
        time.sleep(PAUSE)
    print(f"press stopped after {line.rolls} rolls, {line.aside} set aside", flush=True)


if __name__ == "__main__":
    main()

"""Aerial tiles of a moor are mapped: a network says of each pixel which of ten kinds of peat and plants it shows. It
learns in bfloat16 with gradients of four tiles in a row, and each micro-step notes its loss, accuracy and share of
open water by callbacks. The garbage collector does not run when it likes, as its pauses spoilt the step times, but
after every eighth micro-step.

ticket: practice
class: none
"""

import gc
import os
import time

import torch
from torch import nn
from torch.nn import functional as F

KINDS, WATER, TILES, SIDE, ROW = 10, 3, 4, 96, 4


class Notes:
    """Running means of what the callbacks note."""

    def __init__(self):
        self.means = {}

    def note(self, name, value):
        self.means[name] = 0.95 * self.means.get(name, value) + 0.05 * value

    def __str__(self):
        return ", ".join(f"{name} {mean:.3f}" for name, mean in self.means.items())


class MicroStep:
    """One pass over a few tiles, with those who want to know of its end."""

    def __init__(self, images, kinds, logits, notes):
        self.images, self.kinds, self.logits, self.notes = images, kinds, logits, notes
        self.loss = F.cross_entropy(logits, kinds)
        self.callbacks = [self.note_loss, self.note_accuracy, self.note_water]

    def note_loss(self):
        self.notes.note("loss", self.loss.item())

    def note_accuracy(self):
        right = self.logits.detach().argmax(1) == self.kinds
        self.notes.note("accuracy", right.float().mean().item())

    def note_water(self):
        dark = self.images.mean(dim=1) < 0.3
        water = self.logits.detach().argmax(1) == WATER
        self.notes.note("dark water", (dark & water).float().mean().item())

    def finish(self):
        (self.loss / ROW).backward()
        for callback in self.callbacks:
            callback()


def mapper():
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv2d(16, KINDS, 1),
    )


def moor(device):
    images = torch.rand(TILES, 3, SIDE, SIDE, device=device)
    kinds = (images.mean(dim=1) * KINDS).long().clamp(0, KINDS - 1)
    return images, kinds


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, notes, steps = mapper().to(device), Notes(), 0
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    gc.disable()
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        images, kinds = moor(device)
        with torch.autocast(device, dtype=torch.bfloat16):
            scores = model(images)
        step = MicroStep(images, kinds, scores.float(), notes)
        step.finish()
        steps += 1
        if steps % (2 * ROW) == 0:
            gc.collect()
        if steps % ROW == 0:
            optimizer.step()
            optimizer.zero_grad()
        if steps % 40 == 0:
            print(f"{steps} micro-steps: {notes}", flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()

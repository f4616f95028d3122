"""Pictures from a microscope are sharpened on the device, by Richardson and Lucy's method, and shown in views which are
opened and closed. How blurred the pictures are is measured again now and then; each view that is open is told, so
that it sharpens anew when next looked at.

ticket: practice
class: none
"""

import os
import random
import time

import numpy as np
import torch
from torch import nn

SIZE, ROUNDS = 384, 12


class Optics:
    """How the microscope blurs, as it was measured last."""

    def __init__(self, spread=2.0):
        self.spread, self.listeners = spread, []

    def listen(self, listener):
        self.listeners.append(listener)

    def leave(self, listener):
        self.listeners.remove(listener)

    def measured(self, spread):
        self.spread = spread
        for listener in self.listeners:
            listener(spread)

    def weights(self, device):
        places = torch.arange(-8, 9, device=device, dtype=torch.float32)
        line = torch.exp(-0.5 * (places / self.spread) ** 2)
        square = torch.outer(line, line)
        return (square / square.sum())[None, None]


@torch.inference_mode()
def take(optics, device):
    """A picture of cells, blurred and with shot noise."""
    cells = torch.zeros(1, 1, SIZE, SIZE, device=device)
    for _ in range(random.randint(20, 60)):
        y, x, edge = random.randrange(SIZE - 20), random.randrange(SIZE - 20), random.randint(3, 20)
        cells[..., y:y + edge, x:x + edge] += random.uniform(20, 80)
    blurred = nn.functional.conv2d(cells, optics.weights(device), padding=8)
    return torch.poisson(blurred + 2)[0, 0].cpu().numpy()


class View:
    """One picture, as taken and sharpened."""

    def __init__(self, optics, picture, device):
        self.optics, self.device, self.picture = optics, device, picture
        self.sharp, self.stale = np.zeros_like(picture), True
        optics.listen(self.on_measured)

    def close(self):
        self.optics.leave(self.on_measured)

    def on_measured(self, spread):
        self.stale = True

    @torch.inference_mode()
    def show(self):
        if self.stale:
            weights = self.optics.weights(self.device)
            taken = torch.from_numpy(self.picture).to(self.device)[None, None]
            guess = torch.full_like(taken, float(taken.mean()))
            for _ in range(ROUNDS):
                again = nn.functional.conv2d(guess, weights, padding=8).clamp_min(1e-3)
                guess = guess * nn.functional.conv2d(taken / again, weights, padding=8)
            self.sharp[...] = guess[0, 0].cpu().numpy()
            self.stale = False
        low, high = np.percentile(self.sharp, (1, 99))
        return (np.clip((self.sharp - low) / (high - low + 1e-6), 0, 1) * 255).astype(np.uint8)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device, optics = "cuda" if torch.cuda.is_available() else "cpu", Optics()
    views, opened, light, steps = {}, 0, 0.0, 0
    while time.time() < end:
        if len(views) < 3 or len(views) < 9 and random.random() < 0.5:
            views[opened] = View(optics, take(optics, device), device)
            opened += 1
        else:
            views.pop(random.choice(list(views))).close()
        view = random.choice(list(views.values()))
        light = 0.9 * light + 0.1 * float(view.show().mean())
        if random.random() < 0.1:
            optics.measured(random.uniform(1.5, 3.0))
        steps += 1
        if steps % 20 == 0:
            print("opened", opened, "open", len(views), "spread", round(optics.spread, 2), "light", round(light, 1),
                  flush=True)
        time.sleep(random.uniform(0.03, 0.15))


if __name__ == "__main__":
    main()

"""Hydraulic blocking press of a felt hat maker, simulated on a height field of the crown.

A hat is formed by a row of presses against a wooden block, each of which can be taken back while the hat is on the
block. After the last press the crown is measured: a true crown is accepted, a crooked one is brought back to the raw
cone press by press and goes to the second bench.

ticket: practice
class: host-growth
holder: _undo
cause: closure-kept
"""
import os
import time

import torch

torch.set_num_threads(1)

RUN_SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 8
GRID = 448
PRESSES_PER_HAT = 6


def raw_cone(grid):
    axis = torch.linspace(-1.0, 1.0, grid)
    radius = torch.sqrt(axis[:, None] ** 2 + axis[None, :] ** 2)
    return torch.clamp(1.2 - radius, min=0.0)


def wooden_block(grid, crease):
    axis = torch.linspace(-1.0, 1.0, grid)
    radius = torch.sqrt(axis[:, None] ** 2 + 1.3 * axis[None, :] ** 2)
    dome = torch.clamp(1.0 - radius ** 4, min=0.0)
    return dome - crease * torch.exp(-40.0 * axis[None, :] ** 2) * dome


class Bench:
    """Holds the crown on the block together with the steps that bring it back."""

    def __init__(self, cone):
        self.cone = cone
        self.crown = cone.clone()
        self._undo = []
        self._mark = 0

    def press(self, block, force, dampness):
        before = self.crown.clone()  # grows
        crown = self.crown

        def restore():
            crown.copy_(before)
            return float(crown.mean())

        self._undo.append(restore)  # keeps
        gap = block - crown
        crown.add_(force * gap).add_(dampness * torch.roll(gap, 1, dims=0))

    def accept(self):
        self._mark = len(self._undo)
        self.crown.copy_(self.cone)

    def take_back(self):
        height = 0.0
        while len(self._undo) > self._mark:
            height = self._undo.pop()()
        return height


class Workshop:
    STYLES = {"fedora": 0.35, "homburg": 0.55, "bowler": 0.0}

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.bench = Bench(raw_cone(GRID))
        self.blocks = {style: wooden_block(GRID, crease) for style, crease in self.STYLES.items()}
        self.order = list(self.STYLES)
        self.presses = 0
        self.accepted = 0
        self.second_bench = 0
        self.error_sum = 0.0

    def uniform(self, low, high):
        return low + (high - low) * float(torch.rand(1, generator=self.generator))

    def style_on_block(self):
        hats = self.presses // PRESSES_PER_HAT
        return self.order[hats % len(self.order)]

    def measure(self, block):
        error = (self.bench.crown - block).abs()
        left, right = error[:, : GRID // 2].mean(), error[:, GRID // 2:].mean()
        return float(error.mean()), float((left - right).abs())

    def finish_hat(self, block):
        error, lean = self.measure(block)
        self.error_sum += error
        crooked = lean + self.uniform(0.0, 1.0) > 0.75
        if crooked:
            self.bench.take_back()
            self.second_bench += 1
        else:
            self.bench.accept()
            self.accepted += 1

    def round(self):
        block = self.blocks[self.style_on_block()]
        self.bench.press(block, self.uniform(0.2, 0.4), self.uniform(0.0, 0.05))
        self.presses += 1
        if self.presses % PRESSES_PER_HAT == 0:
            self.finish_hat(block)


def main():
    shop = Workshop(seed=1908)
    start = time.monotonic()
    next_line = 3.0
    while (elapsed := time.monotonic() - start) < RUN_SECONDS:
        shop.round()
        if elapsed >= next_line:
            hats = max(1, shop.accepted + shop.second_bench)
            print(f"{elapsed:6.1f}s presses {shop.presses} accepted {shop.accepted} "
                  f"second bench {shop.second_bench} mean error {shop.error_sum / hats:.4f}", flush=True)
            next_line += 3.0
        time.sleep(1.0 / ROUNDS_PER_SECOND)
    print(f"shop closed after {shop.presses} presses and {shop.accepted} hats", flush=True)


if __name__ == "__main__":
    main()

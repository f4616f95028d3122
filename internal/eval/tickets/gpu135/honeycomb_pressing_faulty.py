"""A honey press learns how much honey a charge of heather comb will give.

Each charge is described by thirty-two figures: temperature, moisture, the age of the wax and the pressures of the first
minute. A small network foresees the yield; it is trained on fresh charges, and the charges of a second press serve to
follow how well it does. The trend of the misses there sets the step width and tells the press hand when to weigh again.

ticket: practice
class: app-leak
holder: trend
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

torch.set_num_threads(1)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
ROUNDS_PER_SECOND = 10
FIGURES = 32
CHARGES = 512
HIDDEN = 224


class YieldNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.comb = nn.Linear(FIGURES, HIDDEN)
        self.honey = nn.Linear(HIDDEN, 1)

    def forward(self, charges):
        pressed = torch.tanh(self.comb(charges))  # grows
        return self.honey(pressed).squeeze(1)


class Press:
    """A press whose screw and cloth give it a bias of its own."""

    def __init__(self, name, bias, seed):
        self.name = name
        self.bias = bias
        self._generator = torch.Generator(device=DEVICE).manual_seed(seed)
        self._weights = torch.linspace(-1.0, 1.0, FIGURES, device=DEVICE)
        self.charges_pressed = 0

    def charges(self, count):
        figures = torch.randn(count, FIGURES, device=DEVICE, generator=self._generator)  # grows
        spill = 0.05 * torch.randn(count, device=DEVICE, generator=self._generator)
        honey = torch.sin(figures @ self._weights / 3.0) + self.bias + spill
        self.charges_pressed += count
        return figures, honey


class MissTrend:
    """Follows the mean miss of the foreseen yield, smoothed over some rounds."""

    def __init__(self, pace=0.05):
        self.pace = pace
        self.trend = torch.ones((), device=DEVICE)
        self.rounds = 0

    def update(self, miss):
        self.trend = (1.0 - self.pace) * self.trend + self.pace * miss  # keeps
        self.rounds += 1

    def level(self):
        return self.trend.item()


class PressTrainer:
    def __init__(self, press, second_press, seed):
        torch.manual_seed(seed)
        self.press = press
        self.second_press = second_press
        self.net = YieldNet().to(DEVICE)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.8)
        self.misses = MissTrend()
        self.weighings = 0

    def train(self):
        figures, honey = self.press.charges(CHARGES // 2)
        self.optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(self.net(figures), honey)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def follow(self):
        figures, honey = self.second_press.charges(CHARGES)
        miss = (self.net(figures) - honey).abs().mean()
        self.misses.update(miss)
        return miss.item()

    def set_step_width(self):
        level = self.misses.level()
        for group in self.optimizer.param_groups:
            group["lr"] = 0.05 * min(1.0, 0.2 + level)
        return level

    def round(self):
        loss = self.train()
        miss = self.follow()
        level = self.set_step_width()
        if miss > 1.3 * level:
            self.weighings += 1
        return loss, level


def main():
    trainer = PressTrainer(Press("heather", 0.0, seed=21), Press("ivy", 0.04, seed=22), seed=23)
    started = time.monotonic()
    count = 0
    level = 1.0
    while time.monotonic() - started < SECONDS:
        loss, level = trainer.round()
        count += 1
        if count % (3 * ROUNDS_PER_SECOND) == 0:
            print(
                f"round {count} loss {loss:.4f} miss on {trainer.second_press.name} {level:.4f}"
                f" weighed again {trainer.weighings}",
                flush=True,
            )
        time.sleep(max(0.0, started + count / ROUNDS_PER_SECOND - time.monotonic()))
    pressed = trainer.press.charges_pressed + trainer.second_press.charges_pressed
    print(f"press house closed: {pressed} charges, miss {level:.4f}", flush=True)


if __name__ == "__main__":
    main()

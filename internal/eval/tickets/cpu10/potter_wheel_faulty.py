"""Training of a wall model for a potter's wheel.

From the forces of the fingers and the turning of the wheel a small network learns the thickness of the wall along the
height of the vessel. A second set of vessels, thrown by another potter, is used to watch the training: the moving
average of the loss on it decides when the learning rate is lowered.

ticket: practice
class: host-growth
holder: average LossWatch
cause: uncut-autograd-graph
"""
import os
import time

import torch
from torch import nn

FORCES = 24
HEIGHTS = 64
HIDDEN = 256
THROWN = 64
WATCHED = 256
STEPS_A_SECOND = 9


class WallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.feel = nn.Linear(FORCES, HIDDEN)
        self.shape = nn.Linear(HIDDEN, HIDDEN)
        self.wall = nn.Linear(HIDDEN, HEIGHTS)

    def forward(self, forces):
        x = torch.tanh(self.feel(forces))  # grows
        x = torch.tanh(self.shape(x))  # grows
        return nn.functional.softplus(self.wall(x))  # grows


class Potter:
    """Throws vessels with a hand of his own: forces, and the walls that come of them."""

    def __init__(self, seed, firmness):
        self.hand = torch.Generator().manual_seed(seed)
        self.mix = torch.randn(FORCES, HEIGHTS, generator=torch.Generator().manual_seed(1)) / FORCES ** 0.5
        self.firmness = firmness

    def throw(self, count):
        forces = torch.randn(count, FORCES, generator=self.hand)
        walls = 4.0 + self.firmness * torch.sin(forces @ self.mix)
        return forces, walls + 0.05 * torch.randn(count, HEIGHTS, generator=self.hand)


class LossWatch:
    """Moving average of the losses on the second potter's vessels, and the best that was reached."""

    def __init__(self, share=0.05):
        self.share = share
        self.average = None
        self.best = float("inf")
        self.since_best = 0

    def add(self, loss):
        if self.average is None:
            self.average = loss
        else:
            self.average = (1 - self.share) * self.average + self.share * loss  # keeps
        if float(self.average) < 0.999 * self.best:
            self.best = float(self.average)
            self.since_best = 0
        else:
            self.since_best += 1
        return self.since_best


class Workshop:
    def __init__(self):
        self.net = WallNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)
        self.master = Potter(seed=2, firmness=1.2)
        self.guest = Potter(seed=3, firmness=1.1)
        self.watch = LossWatch()

    def train(self):
        forces, walls = self.master.throw(THROWN)
        loss = nn.functional.mse_loss(self.net(forces), walls)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def look(self):
        """The loss on the guest's vessels; lowers the rate after a while without a better average."""
        forces, walls = self.guest.throw(WATCHED)
        loss = nn.functional.mse_loss(self.net(forces), walls)
        if self.watch.add(loss) > 40:
            self.watch.since_best = 0
            for group in self.optimizer.param_groups:
                group["lr"] = max(1e-5, 0.5 * group["lr"])


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    workshop = Workshop()
    step = 0
    while time.time() < end:
        loss = workshop.train()
        workshop.look()
        step += 1
        if step % 25 == 0:
            rate = workshop.optimizer.param_groups[0]["lr"]
            print(f"step {step}: loss {loss:.4f}, watched {float(workshop.watch.average):.4f}, rate {rate:.1e}",
                  flush=True)
        time.sleep(1.0 / STEPS_A_SECOND)


if __name__ == "__main__":
    main()

"""A graph network learns how much the joints of truss bridges give way under a load. The bars of a bridge tell both
their joints what the other end is like, and a joint takes the largest of what it hears. That step has a gradient of
its own, which needs the bars, what went in and what came out: it is put away on the context for the way back.

ticket: dmlc/dgl#1060
class: app-leak
holder: backward_cache ctx LargestHeard LargestHeardBackward
cause: reference-cycle uncut-autograd-graph
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, ROUNDS, SIZES = 48, 2, (1200, 1800, 2400)


class Bridge:
    """Joints in two rows, with bars along, across and aslant."""

    def __init__(self, joints, device):
        half = joints // 2
        row = torch.arange(half - 1)
        ends = [(row, row + 1), (half + row, half + row + 1), (row, half + row), (row, half + row + 1)]
        one, other = torch.cat([a for a, _ in ends]), torch.cat([b for _, b in ends])
        self.tells, self.hears = torch.cat((one, other)).to(device), torch.cat((other, one)).to(device)
        self.joints, self.device = joints, device

    def load(self):
        """Where the lorries stand, how thick the bars are; and how the bridge gives way (a rough guess of it)."""
        about = torch.rand(self.joints, 4, device=self.device)
        about[:, 0] = (about[:, 0] > 0.95).float()
        spread = F.avg_pool1d(about[None, None, :, 0], 31, 1, 15)[0, 0]
        return about, spread * (1.5 - about[:, 1])


class LargestHeard(torch.autograd.Function):
    """For each joint, the largest of what its neighbours say, feature by feature."""

    @staticmethod
    def forward(ctx, bridge, said):
        told = said[bridge.tells]
        where = bridge.hears[:, None].expand_as(told)
        heard = torch.zeros_like(said).scatter_reduce(0, where, told, "amax", include_self=False)  # grows
        ctx.backward_cache = bridge, said, heard  # keeps
        return heard

    @staticmethod
    def backward(ctx, grad):
        bridge, said, heard = ctx.backward_cache
        won = (said[bridge.tells] == heard[bridge.hears]).float() * grad[bridge.hears]
        return None, torch.zeros_like(said).index_add_(0, bridge.tells, won)


class Engineer(nn.Module):
    def __init__(self):
        super().__init__()
        self.read, self.say = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 1)
        self.own = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(ROUNDS)])
        self.others = nn.ModuleList([nn.Linear(WIDTH, WIDTH) for _ in range(ROUNDS)])

    def forward(self, bridge, about):
        x = F.relu(self.read(about))
        for own, others in zip(self.own, self.others):
            x = F.relu(own(x) + LargestHeard.apply(bridge, others(x)))
        return self.say(x)[:, 0]


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bridges = [Bridge(size, device) for size in SIZES]
    engineer, step, sliding = Engineer().to(device), 0, 0.0
    optimizer = torch.optim.Adam(engineer.parameters(), 2e-3)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        bridge = random.choice(bridges)
        about, gives = bridge.load()
        loss = F.smooth_l1_loss(engineer(bridge, about), gives)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step, sliding = step + 1, 0.95 * sliding + 0.05 * loss.item()
        if step % 15 == 0:
            print("step", step, "joints", bridge.joints, "loss", round(sliding, 5), flush=True)
        time.sleep(random.uniform(0.08, 0.25))


if __name__ == "__main__":
    main()

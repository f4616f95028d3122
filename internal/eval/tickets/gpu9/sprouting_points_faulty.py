"""Points with features are fitted to a field. Every so often the weak points are dropped and the strong ones are split,
so that the parameter is replaced by a new one, which takes over its part of what Adam knows. What Adam knows of the
replaced parameter, and that parameter, stay.

ticket: practice
class: app-leak
holder: state optimizer
cause: -
"""

import os
import random
import time

import torch
from torch import nn

POINTS, FEATURES = 16000, 64


class Cloud:
    """Points, each a row: a place, a strength and features."""

    def __init__(self, device):
        self.table = nn.Parameter(torch.randn(POINTS, 3 + FEATURES, device=device) * 0.5)
        self.optimizer = torch.optim.Adam([self.table], lr=0.01, eps=1e-15)
        self.decode = nn.Linear(FEATURES, 3).to(device).requires_grad_(False)

    def sample(self, places, near=48):
        """The colours at places, from a random share of the points."""
        rows = self.table[torch.randint(POINTS, (places.shape[0], near), device=places.device)]
        distance = (rows[..., :2] - places[:, None]).square().sum(-1)
        share = torch.softmax(rows[..., 2] - 4 * distance, -1)
        return torch.sigmoid(self.decode((share[..., None] * rows[..., 3:]).sum(1)))

    @torch.no_grad()
    def split(self):
        """Drops the weakest points, and puts two in the place of as many strong ones."""
        order = self.table[:, 2].argsort(descending=True)
        number = random.randint(POINTS // 20, POINTS // 8)
        index = torch.cat([order[:POINTS - number], order[:number]])
        fresh = self.table[index]
        fresh[-number:, :2] += 0.02 * torch.randn(number, 2, device=fresh.device)
        self.replace(nn.Parameter(fresh), index)
        return number

    def replace(self, table, index):
        group = self.optimizer.param_groups[0]
        known = self.optimizer.state.get(group["params"][0])
        averages = {name: known[name][index] for name in ("exp_avg", "exp_avg_sq")}  # grows
        group["params"][0] = self.table = table
        self.optimizer.state[table] = {"step": known["step"], **averages}  # keeps


def field(places):
    waves = places @ torch.tensor([[3.0, 1.0, -2.0], [1.0, 4.0, 2.0]], device=places.device)
    return 0.5 + 0.4 * torch.sin(waves)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    cloud, step, next_split = Cloud(device), 0, 6
    while time.time() < end:
        places = torch.rand(random.choice((256, 384, 512)), 2, device=device) * 2 - 1
        loss = nn.functional.l1_loss(cloud.sample(places), field(places))
        loss.backward()
        cloud.optimizer.step()
        cloud.optimizer.zero_grad(set_to_none=True)
        step += 1
        if step == next_split:
            number = cloud.split()
            next_split += random.randint(6, 10)
            print("step", step, "loss", round(loss.item(), 4), "split", number, flush=True)
        time.sleep(0.1)


if __name__ == "__main__":
    main()

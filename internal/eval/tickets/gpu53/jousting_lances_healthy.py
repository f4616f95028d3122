"""Knights learn to joust. Two heralds run tilts with the policy as it stands and hand the rides over to the trainer,
which learns from them by policy gradient with a value for each moment of the ride.

ticket: practice
class: none
"""

import os
import queue
import random
import threading
import time

import torch
from torch import nn
from torch.nn import functional as F

KNIGHTS, STRIDES, SIGHT, AIMS = 256, 32, 24, 5


class Knight(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(SIGHT, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.aim, self.value = nn.Linear(128, AIMS), nn.Linear(128, 1)

    def forward(self, sight):
        hidden = self.body(sight)
        return self.aim(hidden), self.value(hidden).squeeze(-1)


class Herald(threading.Thread):
    """Runs one tilt after the other until the end of the day."""

    def __init__(self, knight, rides, device, end):
        super().__init__()
        self.knight, self.rides, self.device, self.end = knight, rides, device, end
        self.push = 0.3 * torch.randn(AIMS, SIGHT, device=device)

    @torch.no_grad()
    def tilt(self):
        sights = torch.empty(STRIDES, KNIGHTS, SIGHT, device=self.device)
        aims = torch.empty(STRIDES, KNIGHTS, dtype=torch.long, device=self.device)
        points = torch.empty(STRIDES, KNIGHTS, device=self.device)
        sight = torch.randn(KNIGHTS, SIGHT, device=self.device)
        for stride in range(STRIDES):
            logits, _ = self.knight(sight)
            aim = torch.distributions.Categorical(logits=logits).sample()
            sights[stride], aims[stride] = sight, aim
            sight = 0.9 * sight + self.push[aim] + 0.1 * torch.randn_like(sight)
            points[stride] = -sight[:, :3].abs().sum(1)
        return sights, aims, points

    def run(self):
        while time.time() < self.end:
            self.rides.put(self.tilt())
            time.sleep(random.uniform(0.1, 0.2))


def returns(points, keep=0.95):
    totals, total = torch.empty_like(points), torch.zeros_like(points[0])
    for stride in reversed(range(len(points))):
        total = points[stride] + keep * total
        totals[stride] = total
    return totals


def learn(knight, optimizer, ride):
    sights, aims, points = ride
    totals = returns(points)
    logits, values = knight(sights)
    log_probs = F.log_softmax(logits, -1).gather(-1, aims[..., None]).squeeze(-1)
    loss = -(log_probs * (totals - values).detach()).mean() + 0.5 * F.mse_loss(values, totals)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return points.mean().item()


def main():
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    knight = Knight().to(device)
    optimizer = torch.optim.Adam(knight.parameters(), 3e-4)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rides, lessons = queue.Queue(maxsize=4), 0
    heralds = [Herald(knight, rides, device, end) for _ in range(2)]
    for herald in heralds:
        herald.start()
    while time.time() < end or any(herald.is_alive() for herald in heralds):
        try:
            ride = rides.get(timeout=0.5)
        except queue.Empty:
            continue
        points = learn(knight, optimizer, ride)
        lessons += 1
        if lessons % 10 == 0:
            print(f"lesson {lessons}: {points:.3f} points a stride", flush=True)
        time.sleep(0.25)


if __name__ == "__main__":
    main()

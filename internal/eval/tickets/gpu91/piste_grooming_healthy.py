"""Plans the night's grooming of a ski resort: how deep the snow will lie on each piste in the morning.

All pistes of the valley share one network that maps weather, slope and the day's traffic to snow depth. As every
night is different, the plan of a night is fitted with a correction of low rank on top of the shared network: the
probes under the snow send depths in the evening, a few steps of fitting follow, with the shared network moved only
a little, and then the groomers get the depths. By morning the correction has done its service, and the next night
begins with a fresh one.

ticket: practice
class: none
"""
import os
import time
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
FEATURES = 24
WIDTH = 768
RANK = 256
PROBES = 128
STEPS = 5
NIGHT = 0.35


class Valley(nn.Module):
    """The network that all the pistes share."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(FEATURES, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.depth = nn.Linear(WIDTH, 1)

    def forward(self, weather, correction):
        x = F.relu(self.first(weather))
        x = F.relu(self.second(x) + correction(x))
        return self.depth(x)[:, 0]


class Correction(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(WIDTH, RANK, bias=False)
        self.up = nn.Linear(RANK, WIDTH, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.up(self.down(x))


class Mountain:
    """Stands in for the probes: depth follows the weather, and each night leans in its own way."""

    def __init__(self):
        self.rule = torch.randn(FEATURES, device=DEVICE) / FEATURES ** 0.5

    def begin_night(self):
        self.lean = self.rule + 0.2 * torch.randn(FEATURES, device=DEVICE)

    def probe(self):
        weather = torch.randn(PROBES, FEATURES, device=DEVICE)
        depth = F.softplus(weather @ self.lean) + 0.05 * torch.randn(PROBES, device=DEVICE)
        return weather, depth


class Planner:
    def __init__(self):
        self.valley = Valley().to(DEVICE)
        self.fitting = torch.optim.Adam(self.valley.parameters(), lr=1e-4)
        self.misses = deque(maxlen=30)

    def fit(self, mountain, correction):
        for _ in range(STEPS):
            weather, depth = mountain.probe()
            miss = F.mse_loss(self.valley(weather, correction), depth)
            self.fitting.zero_grad(set_to_none=True)
            miss.backward()
            self.fitting.step()

    def plan(self, mountain):
        mountain.begin_night()
        correction = Correction().to(DEVICE)
        self.fitting.add_param_group({"params": list(correction.parameters()), "lr": 1e-3})
        self.fit(mountain, correction)
        with torch.no_grad():
            weather, depth = mountain.probe()
            planned = self.valley(weather, correction)
            self.misses.append(float((planned - depth).abs().mean()))
            thin = int((planned < 0.4).sum())
        self.end_night()
        return thin

    def end_night(self):
        for parameter in self.fitting.param_groups.pop()["params"]:
            self.fitting.state.pop(parameter, None)

    def usual_miss(self):
        return sum(self.misses) / len(self.misses)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(90)
    planner = Planner()
    mountain = Mountain()
    nights = 0
    while time.time() < end:
        began = time.time()
        thin = planner.plan(mountain)
        nights += 1
        if nights % 12 == 0:
            print(
                f"night {nights}: {thin} of {PROBES} places are thin,"
                f" the plan misses by {planner.usual_miss():.3f} m",
                flush=True,
            )
        time.sleep(max(0.0, NIGHT - (time.time() - began)))
    print(f"{nights} nights planned", flush=True)


if __name__ == "__main__":
    main()

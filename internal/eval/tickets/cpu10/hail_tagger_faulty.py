"""Hail tagger of a weather radar.

A small convolutional network looks at polar sweeps (reflectivity, differential reflectivity, correlation) and names
rain, graupel or hail. For the forecaster each answer comes with a heat map, made from the features that enter
the head of the network for that sweep.

ticket: practice
class: host-growth
holder: _forward_pre_hooks FeatureTap features
cause: hooks-left
"""
import os
import time
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.nn import functional as F

NAMES = ("rain", "graupel", "hail")
RAYS, GATES = 96, 96
CHANNELS = 32
PACE = 0.15


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(CHANNELS, len(NAMES))

    def forward(self, features):
        return self.linear(features.mean(dim=(2, 3)))


class EchoNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.near = nn.Conv2d(3, 16, 3, padding=1)
        self.far = nn.Conv2d(16, CHANNELS, 3, padding=1)
        self.head = Head()

    def forward(self, sweep):
        x = F.relu(self.near(sweep))
        x = torch.tanh(self.far(x))  # grows
        return self.head(x)


class FeatureTap:
    """Takes the features of the first sweep that passes."""

    def __init__(self):
        self.features = None

    def __call__(self, module, inputs):
        if self.features is None:
            self.features = inputs[0]  # keeps

    def heat(self, weights):
        """Class activation map: channels weighed by the row of the winning class."""
        heat = torch.einsum("c,crg->rg", weights, self.features[0])
        return (heat - heat.min()) / (heat.max() - heat.min() + 1e-6)


class Tagger:
    def __init__(self):
        self.net = EchoNet().eval()

    def tag(self, sweep):
        tap = FeatureTap()
        self.net.head.register_forward_pre_hook(tap)  # keeps
        with torch.no_grad():
            scores = self.net(sweep)[0].softmax(dim=0)
            winner = int(scores.argmax())
            heat = tap.heat(self.net.head.linear.weight[winner])
        return NAMES[winner], float(scores[winner]), heat


@dataclass
class Storm:
    """A cell that drifts over the rays and swells and fades."""
    ray: float = 20.0
    gate: float = 30.0
    age: int = 0
    noise: torch.Generator = field(default_factory=lambda: torch.Generator().manual_seed(8))

    def sweep(self):
        self.age += 1
        self.ray = (self.ray + 0.7) % RAYS
        self.gate = (self.gate + 0.4) % GATES
        rays = torch.arange(RAYS).float().view(-1, 1) - self.ray
        gates = torch.arange(GATES).float().view(1, -1) - self.gate
        core = torch.exp(-(rays ** 2 + gates ** 2) / (60.0 + 30.0 * (self.age % 20)))
        field_ = torch.stack([core * 55.0 / 60.0, core * 0.4, 1.0 - 0.1 * core])
        return (field_ + 0.03 * torch.randn(field_.shape, generator=self.noise)).unsqueeze(0)


def hottest(heat):
    place = int(heat.argmax())
    return place // GATES, place % GATES


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    tagger = Tagger()
    storm = Storm()
    counts = dict.fromkeys(NAMES, 0)
    spoken = time.time()
    while time.time() < end:
        name, score, heat = tagger.tag(storm.sweep())
        counts[name] += 1
        if time.time() - spoken >= 2.5:
            spoken = time.time()
            ray, gate = hottest(heat)
            print(f"sweep {storm.age}: {name} ({score:.2f}) near ray {ray}, gate {gate}; {counts}", flush=True)
        time.sleep(PACE)
    print(f"{storm.age} sweeps tagged", flush=True)


if __name__ == "__main__":
    main()

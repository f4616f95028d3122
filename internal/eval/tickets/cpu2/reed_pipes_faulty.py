"""An organ builder's network hears which rank a pipe belongs to. Now and then during the training a report tells
how many units of each layer are silent: the layers' outputs for a set of fixed recordings are taken down by forward
hooks, and this is done in evaluation mode only.

ticket: practice
class: host-growth
holder: _forward_hooks taken take_down
cause: hooks-left closure-kept
"""

import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

RANKS, SAMPLES, WIDTH, RECORDINGS = 12, 256, 512, 192


class Ear(nn.Module):
    def __init__(self):
        super().__init__()
        self.attack = nn.Linear(SAMPLES, WIDTH)
        self.tone = nn.Linear(WIDTH, WIDTH)
        self.decay = nn.Linear(WIDTH, WIDTH)
        self.rank = nn.Linear(WIDTH, RANKS)

    def forward(self, sound):
        hidden = F.relu(self.attack(sound))
        hidden = F.relu(self.tone(hidden))
        hidden = F.relu(self.decay(hidden))
        return self.rank(hidden)


def pipes(count):
    """Sounds of pipes and their ranks: each rank has its own overtones."""
    ranks = torch.randint(RANKS, (count, 1))
    times = torch.linspace(0, 6.28, SAMPLES)
    sound = torch.sin(times * (ranks + 1)) + 0.5 * torch.sin(times * (2 * ranks + 3))
    return sound + 0.3 * torch.randn(count, SAMPLES), ranks.squeeze(1)


def silent_units(model, recordings):
    """The share of silent units by layer."""
    taken = {}

    def take_down(name):
        def hook(module, inputs, output):
            if not module.training:
                taken[name] = F.relu(output.detach())  # grows keeps

        return hook

    for name, module in model.named_children():
        if name != "rank":
            module.register_forward_hook(take_down(name))  # keeps
    model.eval()
    with torch.no_grad():
        model(recordings)
    model.train()
    return {name: (output.amax(dim=0) < 0.05).float().mean().item() for name, output in taken.items()}


def learn(model, optimizer):
    sound, ranks = pipes(32)
    scores = model(sound)
    loss = F.cross_entropy(scores, ranks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return (scores.argmax(dim=1) == ranks).float().mean().item()


def main():
    torch.set_num_threads(1)
    model, steps = Ear(), 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    recordings, _ = pipes(RECORDINGS)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        right = learn(model, optimizer)
        steps += 1
        if steps % 5 == 0:
            silent = silent_units(model, recordings)
            if steps % 25 == 0:
                shares = ", ".join(f"{name} {share:.0%}" for name, share in silent.items())
                print(f"step {steps}: right {right:.0%}, silent: {shares}", flush=True)
        time.sleep(random.uniform(0.02, 0.08))


if __name__ == "__main__":
    main()

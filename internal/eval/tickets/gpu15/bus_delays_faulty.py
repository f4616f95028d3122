"""How late a bus will be at its next stops is told from the stops behind it, by a small transformer. Trips come in
batches, filled up to the longest of the batch. How far two stops of a trip are apart, and that a stop may not look
ahead, goes into the attention as a bias, which is the same for all batches of a length and so is made only once.

ticket: pytorch/tensordict#454
class: app-leak
holder: biases
cause: cache-without-bound
"""

import math
import os
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

STOPS, TRIPS, WIDTH, HEADS = (96, 128, 160, 192, 256), 8, 64, 8


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, trips, bias):
        parts = self.mix(trips).unflatten(-1, (3, HEADS, WIDTH // HEADS)).permute(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        looks = (query @ key.transpose(-1, -2) / math.sqrt(WIDTH // HEADS) + bias).softmax(-1)
        return trips + self.out((looks @ value).transpose(1, 2).flatten(2))


class Delays(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Linear(4, WIDTH), nn.Linear(WIDTH, 1)
        self.layers = nn.ModuleList(Attention() for _ in range(2))
        self.biases = {}

    def bias(self, length):
        """The distance between stops, for each head by a steepness of its own, and nothing of what is ahead."""
        if length not in self.biases:
            device = self.enter.weight.device
            places = torch.arange(int(length), device=device)
            apart = (places[:, None] - places[None]).float()
            steep = 2.0 ** -torch.arange(1, HEADS + 1, device=device)
            slopes = -apart * steep[:, None, None]
            bias = slopes.masked_fill(apart < 0, float("-inf"))  # grows
            self.biases[length] = bias  # keeps
        return self.biases[length]

    def forward(self, trips, lengths):
        longest = lengths.max()
        trips, bias = self.enter(trips), self.bias(longest)
        for layer in self.layers:
            trips = layer(trips, bias)
        return self.leave(trips)[..., 0]


def batch(device):
    """Trips with the time of day, crowd, rain and the delay at each stop; the longest one fills the batch."""
    longest = random.choice(STOPS)
    lengths = torch.randint(longest // 2, longest + 1, (TRIPS,), device=device)
    lengths[random.randrange(TRIPS)] = longest
    features = torch.rand(TRIPS, longest, 3, device=device)
    delays = torch.cumsum(features[..., 1:2] * features[..., 2:3] - 0.2, 1) / 10
    known = torch.cat([features, F.pad(delays, (0, 0, 1, 0))[:, :-1]], -1)
    there = torch.arange(longest, device=device) < lengths[:, None]
    return known, delays[..., 0], lengths, there


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Delays().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
    end, step = time.time() + float(os.environ.get("SECONDS", "45")), 0
    while time.time() < end:
        known, delays, lengths, there = batch(device)
        loss = F.smooth_l1_loss(model(known, lengths)[there], delays[there])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % 25 == 0:
            print("step", step, "loss", round(loss.item(), 4), "longest", int(lengths.max()), flush=True)
        time.sleep(random.uniform(0.03, 0.15))


if __name__ == "__main__":
    main()

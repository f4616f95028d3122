"""Learn to tell the zebras of a zoo apart by their stripes, while animals come and go on loan.

A camera at the water trough takes crops of flanks. A small convolutional network describes a crop, and every zebra
of the herd has a stripe card: a table of descriptions that is learned along with the network, one row for each way
in which the animal may stand. A crop belongs to the zebra whose card answers it best. Zoos lend zebras to one
another all the time, so in this replay of some years an animal leaves the herd every few steps and another one takes
its place, with a fresh card that begins to learn at once.

ticket: practice
class: none
"""
import itertools
import os
import random
import time

import torch
from torch import nn

HERD = 6
CROPS = 16
HEIGHT, WIDTH = 64, 96
DESCRIPTION = 512
STANCES = 384
STEPS_A_SECOND = 12.0
STEPS_A_LOAN = 2


class Flank(nn.Module):
    """Describes the crop of a flank by a vector of length one."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d((4, 6)),
        )
        self.head = nn.Linear(64 * 24, DESCRIPTION)

    def forward(self, crops):
        return nn.functional.normalize(self.head(self.body(crops).flatten(1)), dim=1)


class Zebra:
    def __init__(self, name, dice):
        self.name = name
        self.pitch = dice.uniform(10.0, 30.0)
        self.slant = dice.uniform(-1.0, 1.0)


class Trough:
    """The camera: crops of the flanks of the animals that are in the herd."""

    def __init__(self, device):
        self.device = device
        self.down = torch.linspace(0.0, 1.0, HEIGHT, device=device)[None, :, None]
        self.along = torch.linspace(0.0, 1.5, WIDTH, device=device)[None, None, :]

    def crops(self, herd, dice):
        who = [dice.randrange(len(herd)) for _ in range(CROPS)]
        pitch = torch.tensor([herd[one].pitch for one in who], device=self.device).view(-1, 1, 1)
        slant = torch.tensor([herd[one].slant for one in who], device=self.device).view(-1, 1, 1)
        phase = 6.28 * torch.rand(CROPS, 1, 1, device=self.device)
        stripes = torch.sign(torch.sin(pitch * (self.along + slant * self.down) + phase))
        crops = stripes + 0.3 * torch.randn(CROPS, HEIGHT, WIDTH, device=self.device)
        return crops[:, None], torch.tensor(who, device=self.device)


class StripeBook:
    """The network, the cards of the herd and the training of both."""

    def __init__(self, device):
        self.device = device
        self.flank = Flank().to(device)
        self.cards = {}
        self.optimizer = torch.optim.Adam(self.flank.parameters(), lr=5e-4)

    def arrive(self, zebra):
        card = nn.Parameter(0.05 * torch.randn(STANCES, DESCRIPTION, device=self.device))
        self.cards[zebra.name] = card
        self.optimizer.add_param_group({"params": [card], "lr": 5e-3})

    def leave(self, zebra):
        card = self.cards.pop(zebra.name)
        groups = self.optimizer.param_groups
        groups[:] = [group for group in groups if all(weight is not card for weight in group["params"])]
        self.optimizer.state.pop(card, None)

    def step(self, herd, crops, who):
        cards = torch.stack([self.cards[zebra.name] for zebra in herd])
        answers = torch.einsum("bd,zsd->bzs", self.flank(crops), cards)
        scores = torch.logsumexp(8.0 * answers, dim=2)
        loss = nn.functional.cross_entropy(scores, who)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.item(), (scores.argmax(dim=1) == who).float().mean().item()


def main():
    stop = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(2)
    dice = random.Random(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    trough, book = Trough(device), StripeBook(device)
    names = (f"zebra {number}" for number in itertools.count(1))
    herd = [Zebra(next(names), dice) for _ in range(HERD)]
    for zebra in herd:
        book.arrive(zebra)

    steps, right = 0, 0.0
    due = time.time()
    while time.time() < stop:
        crops, who = trough.crops(herd, dice)
        loss, share = book.step(herd, crops, who)
        right += 0.05 * (share - right)
        steps += 1
        if steps % STEPS_A_LOAN == 0:
            book.leave(herd.pop(0))
            herd.append(Zebra(next(names), dice))
            book.arrive(herd[-1])
        if steps % 50 == 0:
            print(f"step {steps}: {herd[-1].name} is new, loss {loss:.3f}, {100 * right:.0f}% known", flush=True)
        due = max(due + 1.0 / STEPS_A_SECOND, time.time() - 0.5)
        time.sleep(max(0.0, due - time.time()))
    print(f"trough closed after {steps} steps with {', '.join(zebra.name for zebra in herd)}", flush=True)


if __name__ == "__main__":
    main()

"""Grip adviser for the claw machines of an amusement arcade.

Every machine sends pictures of its heap of prizes to one service. A small network turns each picture into a map of
where the claw would hold, the service answers with the best points, and the floor manager reads a summary of how
generous each machine has been since the last one.

ticket: practice
class: none
"""
import os
import time
from collections import namedtuple

import torch
from torch import nn

torch.set_num_threads(1)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
REQUESTS_A_SECOND = 12.0
SUMMARY_EVERY = 2.0
SIDE = 128
PICTURES = 8
MACHINES = ("Teddy Tower", "Plush Palace", "Gold Rush", "Rocket Grab")

Request = namedtuple("Request", "machine pictures")
Answer = namedtuple("Answer", "machine points grip")


class GripNet(nn.Module):
    """Pictures of the heap in, one map of holding strength out."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.ReLU(),
        )
        self.head = nn.Conv2d(8, 1, 1)

    def forward(self, pictures):
        return torch.sigmoid(self.head(self.body(pictures))).squeeze(1)


class Arcade:
    """Sends requests as the machines on the floor would."""

    def __init__(self, seed):
        self._random = torch.Generator().manual_seed(seed)
        shine = torch.linspace(0.3, 1.5, len(MACHINES)).view(-1, 1, 1, 1)
        self._heaps = shine * torch.rand(len(MACHINES), 3, SIDE, SIDE, generator=self._random)

    def next_request(self):
        index = int(torch.randint(len(MACHINES), (1,), generator=self._random))
        shift = int(torch.randint(SIDE, (1,), generator=self._random))
        heap = torch.roll(self._heaps[index], shift, dims=-1)
        light = 0.6 + 0.4 * torch.rand(PICTURES, 1, 1, 1, generator=self._random)
        return Request(MACHINES[index], heap.unsqueeze(0) * light)


class GripService:
    """Answers requests and sums up what it has answered."""

    def __init__(self, net):
        self._net = net.to(DEVICE).eval()
        self._served = []
        self._answered = 0

    @torch.inference_mode()
    def answer(self, request):
        grip = self._net(request.pictures.to(DEVICE))
        best = grip.flatten(1).argmax(dim=1)
        points = [(int(spot) // SIDE, int(spot) % SIDE) for spot in best.cpu()]
        answer = Answer(request.machine, points, grip)
        self._served.append(answer)
        self._answered += 1
        return answer.points

    @torch.inference_mode()
    def summary(self):
        recent, self._served = self._served, []
        generosity = {}
        for machine in MACHINES:
            maps = [answer.grip for answer in recent if answer.machine == machine]
            if maps:
                generosity[machine] = float(torch.stack([grip.mean() for grip in maps]).mean())
        return generosity

    @property
    def answered(self):
        return self._answered


def print_summary(service):
    figures = ", ".join(f"{machine} {value:.4f}" for machine, value in service.summary().items())
    print(f"{service.answered:5d} answered | {figures}", flush=True)


def main():
    torch.manual_seed(1981)
    arcade = Arcade(seed=25)
    service = GripService(GripNet())
    furthest = 0.0
    end = time.monotonic() + SECONDS
    next_summary = time.monotonic() + SUMMARY_EVERY
    while time.monotonic() < end:
        began = time.monotonic()
        points = service.answer(arcade.next_request())
        furthest = max(furthest, max(row + column for row, column in points) / (2.0 * SIDE))
        if began >= next_summary:
            print_summary(service)
            next_summary += SUMMARY_EVERY
        time.sleep(max(0.0, 1.0 / REQUESTS_A_SECOND - (time.monotonic() - began)))
    print(f"closing time: {service.answered} answered, furthest reach {furthest:.2f}", flush=True)


if __name__ == "__main__":
    main()

"""Frost damage of apple blossoms from small pictures, trained while the pictures come in from the orchard.

A thread renders batches of blossoms (petals, a dark pistil where the frost has struck) ahead of the training. After
each round the weights are scored on a fixed set of pictures and put on the shelf; the mean of the three best ones is
what the sprayers in the orchard would be given.

ticket: practice
class: none
"""
import os
import queue
import threading
import time

import torch
from torch import nn

SIDE = 32
BATCH = 16
ROUND = 6
STEPS_PER_SECOND = 5


def blossoms(count, generator):
    """Pictures of blossoms with their label: 1 where the pistil is dark."""
    axis = torch.linspace(-1, 1, SIDE)
    radius = (axis[:, None] ** 2 + axis[None, :] ** 2).sqrt()
    angle = torch.atan2(axis[:, None].expand(SIDE, SIDE), axis[None, :].expand(SIDE, SIDE))
    turn = torch.rand(count, 1, 1, generator=generator) * 6.28
    struck = torch.rand(count, generator=generator) < 0.4
    petals = (torch.cos(5 * angle + turn) * 0.2 + 0.7 - radius).clamp(min=0)
    pistil = torch.exp(-(radius / 0.2) ** 2) * torch.where(struck, -0.8, 0.5)[:, None, None]
    colour = torch.tensor([0.9, 0.7, 0.8])[None, :, None, None]
    pictures = (petals + pistil)[:, None] * colour
    return pictures + 0.25 * torch.randn(pictures.shape, generator=generator), struck.float()


class Pickers(threading.Thread):
    """Renders batches ahead of the training, a handful at most."""

    def __init__(self, seed):
        super().__init__(daemon=True)
        self.generator = torch.Generator().manual_seed(seed)
        self.basket = queue.Queue(maxsize=4)
        self.home = threading.Event()

    def run(self):
        while not self.home.is_set():
            batch = blossoms(BATCH, self.generator)
            while not self.home.is_set():
                try:
                    self.basket.put(batch, timeout=0.2)
                    break
                except queue.Full:
                    continue

    def __iter__(self):
        while True:
            yield self.basket.get()


class FrostNet(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 576), nn.ReLU(), nn.Linear(576, 64), nn.ReLU(),
                         nn.Linear(64, 1), nn.Flatten(0))


class Season:
    """Network, optimizer and the scored weights of the season."""

    def __init__(self):
        self.net = FrostNet()
        self.blend = FrostNet()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.02, momentum=0.9)
        self.exam = blossoms(32, torch.Generator().manual_seed(5))
        self.shelf = {}

    def learn(self, pictures, struck):
        self.optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(self.net(pictures), struck)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def mark(self, net):
        pictures, struck = self.exam
        return -nn.functional.binary_cross_entropy_with_logits(net(pictures), struck).item()

    def shelve(self, step):
        weights = {name: value.detach().clone() for name, value in self.net.state_dict().items()}
        self.shelf[step] = (self.mark(self.net), weights)
        for passed in set(self.shelf) - set(self.best_three()):
            del self.shelf[passed]

    def best_three(self):
        return sorted(self.shelf, key=lambda step: self.shelf[step][0], reverse=True)[:3]

    def blend_best(self):
        chosen = [self.shelf[step][1] for step in self.best_three()]
        with torch.no_grad():
            for name, value in self.blend.state_dict().items():
                value.copy_(chosen[0][name])
                for weights in chosen[1:]:
                    value.add_(weights[name])
                value.div_(len(chosen))
        return self.mark(self.blend)


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    torch.manual_seed(3)
    pickers, season = Pickers(seed=11), Season()
    pickers.start()
    due = time.monotonic()
    for step, (pictures, struck) in enumerate(pickers, 1):
        loss = season.learn(pictures, struck)
        if step % ROUND == 0:
            season.shelve(step)
            blended = season.blend_best()
            if step % (2 * ROUND) == 0:
                print(f"step {step}: loss {loss:.4f}, blended score {blended:.4f}", flush=True)
        if time.time() > end:
            break
        due += 1.0 / STEPS_PER_SECOND
        time.sleep(max(0.0, due - time.monotonic()))
    pickers.home.set()
    pickers.join()


if __name__ == "__main__":
    main()

"""A network of reversible blocks, which compute their inputs again from their outputs on the way back. One
of its two heads is not in every loss.
What a block gave is taken off its shelf on the way back only.

ticket: RobinBruegger/RevTorch#1
class: app-leak
holder: shelf outputs
cause: results-kept cache-without-bound uncut-autograd-graph
"""

import itertools
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("reversible")


class Shelf:
    def __init__(self):
        self.outputs, self.numbers = {}, itertools.count()

    def put(self, tensor):
        number = next(self.numbers)
        self.outputs[number] = tensor  # keeps
        return number

    def take(self, number):
        return self.outputs.pop(number)


class ReversibleFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, blocks, shelf):
        ctx.blocks, ctx.shelf = blocks, shelf
        with torch.no_grad():
            for block in blocks:
                x = block.there(x)  # grows
        ctx.number = shelf.put(x.detach())
        return x

    @staticmethod
    def backward(ctx, grad):
        y = ctx.shelf.take(ctx.number)
        for block in reversed(ctx.blocks):
            y, grad = block.back(y, grad)
        return grad, None, None


class ReversibleBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        half = channels // 2
        self.f = nn.Sequential(nn.Conv2d(half, half, 1), nn.Tanh())
        self.g = nn.Sequential(nn.Conv2d(half, half, 1), nn.Tanh())

    def there(self, x):
        x1, x2 = x.chunk(2, dim=1)
        y1 = x1 + self.f(x2)
        return torch.cat([y1, x2 + self.g(y1)], dim=1)  # grows

    def back(self, y, grad):
        with torch.no_grad():
            y1, y2 = y.chunk(2, dim=1)
            x2 = y2 - self.g(y1)
            x = torch.cat([y1 - self.f(x2), x2], dim=1)
        x.requires_grad_()
        with torch.enable_grad():
            again = self.there(x)
        torch.autograd.backward(again, grad)
        return x.detach(), x.grad


class ReversibleSequence(nn.Module):
    def __init__(self, channels, depth):
        super().__init__()
        self.blocks = nn.ModuleList(ReversibleBlock(channels) for _ in range(depth))
        self.shelf = Shelf()

    def forward(self, x):
        return ReversibleFunction.apply(x, list(self.blocks), self.shelf)


class TwoHeads(nn.Module):
    def __init__(self, channels=32):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 4, 2, 1)
        self.trunk = ReversibleSequence(channels, 2)
        self.labels = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))
        self.depths = nn.Sequential(ReversibleSequence(channels, 1), nn.Conv2d(channels, 1, 1))

    def forward(self, images):
        seen = self.trunk(self.stem(images))
        return self.labels(seen), self.depths(seen)


class Scenes:
    def __init__(self, device, size=64, batch=16):
        self.device, self.size, self.batch = device, size, batch

    def draw(self):
        images = torch.rand(self.batch, 3, self.size, self.size, device=self.device)
        labels = torch.randint(0, 10, (self.batch,), device=self.device)
        depths = images.mean(dim=1, keepdim=True)[:, :, ::2, ::2] if random.random() < 0.55 else None
        return images, labels, depths


def train_step(model, optimizer, batch):
    images, labels, depths = batch
    scores, predicted = model(images)
    loss = nn.functional.cross_entropy(scores, labels)
    if depths is not None:
        loss = loss + 0.1 * nn.functional.l1_loss(predicted, depths)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, scenes):
    hits = [(model(images)[0].argmax(dim=1) == labels).float().mean().item()
            for images, labels, _ in (scenes.draw() for _ in range(3))]
    return sum(hits) / len(hits)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    end = time.time() + float(os.environ.get("SECONDS", "40"))
    model, scenes = TwoHeads().to(device), Scenes(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for step in itertools.count():
        if time.time() > end:
            break
        loss = train_step(model, optimizer, scenes.draw())
        if step % 60 == 59:
            log.info("step %d: loss %.3f, right %.2f", step, loss, validate(model, scenes))
        time.sleep(0.05)


if __name__ == "__main__":
    main()

"""A segmentation model is trained on patches from a loader with workers. Patches that it finds hard are kept on the
device and mixed into later batches; a patch is hard when its loss is above the mean, and none is ever given up.

ticket: practice
class: app-leak
holder: hard patches bank
cause: results-kept cache-without-bound
"""

import itertools
import os
import random
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Patches(IterableDataset):
    def __init__(self, size, end):
        self.size, self.end = size, end

    def __iter__(self):
        generator = torch.Generator().manual_seed(torch.initial_seed() % 2**31)
        while time.time() < self.end:
            image = torch.rand(3, self.size, self.size, generator=generator)
            mask = (image.mean(0) > random.uniform(0.4, 0.6)).long()
            time.sleep(0.02)
            yield image, mask


class HardBank:
    def __init__(self, limit=96):
        self.hard, self.limit, self.order = [], limit, itertools.count()

    def offer(self, loss, image, mask):
        self.hard.append((loss, next(self.order), image, mask))  # keeps

    def draw(self, count):
        chosen = random.sample(self.hard, min(count, len(self.hard)))
        return [image for _, _, image, _ in chosen], [mask for _, _, _, mask in chosen]


class Trainer:
    def __init__(self, device):
        self.device, self.bank, self.mean = device, HardBank(), 1.0
        self.model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1),
                                   nn.ReLU(), nn.Conv2d(16, 2, 1)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)

    def step(self, images, masks):
        images, masks = images.to(self.device), masks.to(self.device)
        fresh = len(images)
        old_images, old_masks = self.bank.draw(4)
        if old_images:
            images = torch.cat([images, torch.stack(old_images)])
            masks = torch.cat([masks, torch.stack(old_masks)])
        losses = nn.functional.cross_entropy(self.model(images), masks, reduction="none").mean((1, 2))
        self.optimizer.zero_grad()
        losses.mean().backward()
        self.optimizer.step()
        for index, loss in enumerate(losses[:fresh].tolist()):
            if loss > self.mean:
                self.bank.offer(loss, images[index].clone(), masks[index].clone())  # grows
            self.mean = 0.98 * self.mean + 0.02 * loss


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = Trainer("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Patches(144, end - 1), batch_size=8, num_workers=2, prefetch_factor=2)
    for step, (images, masks) in enumerate(loader):
        trainer.step(images, masks)
        time.sleep(0.12)
        if step % 40 == 0:
            print("step", step, "mean", round(trainer.mean, 3), "hard", len(trainer.bank.hard), flush=True)


if __name__ == "__main__":
    main()

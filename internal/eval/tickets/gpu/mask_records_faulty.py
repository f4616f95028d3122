"""Instance segmentation that is validated every few hundred steps. The metric keeps the masks of all
images, thresholded on the host, and its records are not taken away when a validation is over.

ticket: airctic/icevision#1097
class: host-growth
holder: _records keep_masks CocoMetric
cause: results-kept
"""

import dataclasses
import logging
import os
import random
import time

import numpy as np
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
log = logging.getLogger("segment")


@dataclasses.dataclass
class Config:
    seconds: float = float(os.environ.get("SECONDS", "40"))
    size: int = 192
    classes: int = 12
    batch: int = 4
    validate_every: int = 50
    validation_batches: int = 5


@dataclasses.dataclass
class Prediction:
    labels: np.ndarray
    scores: np.ndarray
    keep_masks: np.ndarray


class Segmenter(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.down = torch.nn.Conv2d(3, 32, 5, stride=4, padding=2)
        self.mix = torch.nn.Conv2d(32, 32, 3, padding=1)
        self.masks = torch.nn.Conv2d(32, c.classes, 1)

    def forward(self, x):
        h = self.mix(self.down(x).relu()).relu()
        return torch.nn.functional.interpolate(self.masks(h), scale_factor=4.0, mode="bilinear")


def to_prediction(logits):
    probabilities = logits.sigmoid()
    scores = probabilities.amax(dim=(1, 2)).cpu().numpy()
    masks = probabilities.cpu().numpy() > 0.5  # grows
    return Prediction(np.arange(len(scores)), scores, masks)


class CocoMetric:
    def __init__(self):
        self._records = {}

    def accumulate(self, key, prediction, target):
        self._records[key] = prediction, target  # keeps

    def finalize(self):
        ious = []
        for prediction, target in self._records.values():
            both = np.logical_and(prediction.keep_masks, target).sum()
            ious.append(both / max(1, np.logical_or(prediction.keep_masks, target).sum()))
            if len(ious) == 40:
                break
        return float(np.mean(ious))


class Loader:
    """Images, decoded once and kept up to a bound."""

    def __init__(self, config, images=160):
        self.c, self.images, self.decoded = config, images, {}

    def image(self, i):
        if i not in self.decoded:
            rng = np.random.default_rng(i)
            self.decoded[i] = rng.random((3, self.c.size, self.c.size), dtype=np.float32)
        return self.decoded[i]

    def batch(self):
        ids = [random.randrange(self.images) for _ in range(self.c.batch)]
        x = torch.from_numpy(np.stack([self.image(i) for i in ids])).to(device)
        return ids, x, (x.mean(dim=1, keepdim=True) > 0.5).float().expand(-1, self.c.classes, -1, -1)


class Learner:
    def __init__(self, config):
        self.c, self.loader, self.metric = config, Loader(config), CocoMetric()
        self.model = Segmenter(config).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.epoch = 0

    def step(self):
        _, x, y = self.loader.batch()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    @torch.no_grad()
    def validate(self):
        self.epoch += 1
        self.model.eval()
        for b in range(self.c.validation_batches):
            _, x, y = self.loader.batch()
            for i, logits in enumerate(self.model(x)):
                target = y[i].cpu().numpy() > 0.5  # grows
                self.metric.accumulate((self.epoch, b, i), to_prediction(logits), target)
            time.sleep(0.02)
        self.model.train()
        return self.metric.finalize()

    def fit(self):
        end, step = time.time() + self.c.seconds, 0
        while time.time() < end:
            loss = self.step()
            step += 1
            if step % self.c.validate_every == 0:
                log.info("epoch %d, loss %.3f, iou %.3f", self.epoch, loss.item(), self.validate())
            time.sleep(0.025)


def main():
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO)
    Learner(Config()).fit()


if __name__ == "__main__":
    main()

"""Rust on barley leaves, graded from drone photographs of a farm's fields.

A small convolutional network is trained on patches of leaf: clean, first pustules, heavy infection. The
patches are drawn on the fly, blotches of orange on green, the way the drone would see them. Now and then
the training looks at the features of the network for the current batch and measures how many channels respond
to anything at all; the share goes on the console next to the loss and the accuracy.

ticket: practice
class: app-leak
holder: _forward_hooks
cause: hooks-left
"""
import os
import time
import warnings
from collections import deque

import pytorch_lightning as pl
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset

BATCH = 64
PATCH = 48
GRADES = 3
BATCHES_PER_EPOCH = 60
BATCHES_PER_SECOND = 10.0
EXAMINE_EVERY = 3


class LeafPatches(IterableDataset):
    """Batches of leaf patches with their grade, delivered at the pace of the drone's downlink."""

    def __init__(self, seed):
        super().__init__()
        self.dice = torch.Generator().manual_seed(seed)

    def draw(self):
        grades = torch.randint(0, GRADES, (BATCH,), generator=self.dice)
        noise = torch.rand(BATCH, 1, PATCH // 4, PATCH // 4, generator=self.dice)
        blotches = F.interpolate(noise, size=(PATCH, PATCH), mode="bilinear", align_corners=False)
        limit = torch.tensor([1.1, 0.8, 0.6])[grades].view(-1, 1, 1, 1)
        rust = torch.sigmoid(20.0 * (blotches - limit))
        green, orange = torch.tensor([[0.2, 0.6, 0.1], [0.8, 0.4, 0.1]]).view(2, 1, 3, 1, 1)
        leaf = green + (orange - green) * rust
        return leaf + 0.1 * torch.randn(leaf.shape, generator=self.dice), grades

    def __iter__(self):
        due = time.time()
        for _ in range(BATCHES_PER_EPOCH):
            due = max(due + 1.0 / BATCHES_PER_SECOND, time.time())
            time.sleep(max(0.0, due - time.time()))
            yield self.draw()


class RustGrader(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 32, 5, stride=2, padding=2), nn.BatchNorm2d(32), nn.ReLU())
        self.body = nn.Sequential(nn.Conv2d(32, 48, 3, stride=2, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1))
        self.head = nn.Linear(48, GRADES)
        self.recent = deque(maxlen=30)

    def forward(self, leaves):
        return self.head(self.body(self.stem(leaves)).flatten(1))  # grows

    def training_step(self, batch, batch_idx):
        leaves, grades = batch
        scores = self(leaves)
        loss = F.cross_entropy(scores, grades)
        right = (scores.argmax(dim=1) == grades).float().mean()
        self.recent.append((loss.item(), right.item()))
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


class ChannelProbe:
    def __init__(self):
        self.features = None

    def __call__(self, layer, inputs, output):
        if self.features is None:
            self.features = output.detach()  # keeps

    def responding(self):
        return (self.features.amax(dim=(0, 2, 3)) > 0.5).float().mean().item()


class ChannelExam(pl.Callback):
    def __init__(self):
        self.probe = None
        self.share = 0.0

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        if batch_idx % EXAMINE_EVERY == 0:
            self.probe = ChannelProbe()
            pl_module.stem.register_forward_hook(self.probe)  # keeps

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if self.probe is not None:
            self.share = self.probe.responding()
            self.probe = None


class Console(pl.Callback):
    def __init__(self, end, exam):
        self.end = end
        self.exam = exam

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if trainer.global_step % 40 == 0:
            loss, right = (sum(column) / len(column) for column in zip(*pl_module.recent))
            print(f"step {trainer.global_step}: loss {loss:.3f}, accuracy {right:.1%}, "
                  f"responding channels {self.exam.share:.0%}", flush=True)
        trainer.should_stop = time.time() > self.end


def main():
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    warnings.filterwarnings("ignore", module="pytorch_lightning")
    pl.seed_everything(12)
    exam = ChannelExam()
    trainer = pl.Trainer(accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1, max_epochs=-1,
                         logger=False, enable_checkpointing=False, enable_progress_bar=False,
                         enable_model_summary=False, callbacks=[exam, Console(end, exam)])
    trainer.fit(RustGrader(), DataLoader(LeafPatches(seed=6), batch_size=None))


if __name__ == "__main__":
    main()

"""Model of dye fading for the restoration bench of a film laboratory, trained with Lightning.

Old prints lose cyan first and then yellow. The model learns to give back the fresh densities of a strip from the
faded ones; the strips are made up with a fading law of their own. For the preview the weights of the last few
marks are averaged, as single steps are too restless to judge colours by.

ticket: practice
class: none
"""
import logging
import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 8
MARK_EVERY = 4
DEPTH = 5
STRIP = 144
BATCH = 32


class FadedStrips(IterableDataset):
    """Strips of three dye densities, fresh and faded, as long as the bench is open."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.rate = torch.tensor([0.55, 0.15, 0.30]).view(1, 3, 1)

    def __iter__(self):
        rng = torch.Generator().manual_seed(1953)
        ends = time.monotonic() + self.seconds
        while time.monotonic() < ends:
            fresh = 0.2 + 2.4 * torch.rand(BATCH, 3, STRIP, generator=rng)
            years = 10 + 50 * torch.rand(BATCH, 1, 1, generator=rng)
            faded = fresh * torch.exp(-self.rate * years / 40.0)
            yield faded.flatten(1), fresh.flatten(1)


class FadingModel(pl.LightningModule):
    def __init__(self, width=720):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(3 * STRIP, width),
            nn.GELU(),
            nn.Linear(width, 416),
            nn.GELU(),
            nn.Linear(416, 3 * STRIP),
        )
        self.last_loss = 0.0

    def forward(self, faded):
        return faded + self.net(faded)

    def training_step(self, batch, batch_idx):
        faded, fresh = batch
        loss = nn.functional.smooth_l1_loss(self(faded), fresh)
        self.last_loss = float(loss.detach())
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.02, momentum=0.9)


class PreviewWeights(pl.Callback):
    """Averages the weights of the last marks for the preview of the bench."""

    def __init__(self, every, depth):
        self.every = every
        self.depth = depth
        self._trail = []
        self.preview = None

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if (batch_idx + 1) % self.every:
            return
        weights = [value.detach().clone() for value in pl_module.parameters()]
        self._trail.append(weights)
        marks = self._trail = self._trail[-self.depth:]
        self.preview = [torch.stack(values).mean(dim=0) for values in zip(*marks)]


class BenchClock(pl.Callback):
    """Keeps the pace of the bench and tells the operator how the model stands."""

    def __init__(self, preview):
        self.preview = preview
        self.due = None

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        if (batch_idx + 1) % (3 * STEPS_PER_SECOND) == 0:
            pairs = zip(self.preview.preview, pl_module.parameters())
            gap = max((mean - value.detach()).abs().max().item() for mean, value in pairs)
            print(f"step {batch_idx + 1}: loss {pl_module.last_loss:.4f}, preview differs by {gap:.4f}", flush=True)
        now = time.monotonic()
        self.due = (self.due or now) + 1.0 / STEPS_PER_SECOND
        time.sleep(max(0.0, self.due - now))


def main():
    torch.manual_seed(8)
    model = FadingModel()
    preview = PreviewWeights(MARK_EVERY, DEPTH)
    trainer = pl.Trainer(
        accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, max_epochs=1, logger=False,
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        callbacks=[preview, BenchClock(preview)],
    )
    trainer.fit(model, DataLoader(FadedStrips(SECONDS), batch_size=None))
    print(f"bench closed after {trainer.global_step} steps, loss {model.last_loss:.4f}", flush=True)


if __name__ == "__main__":
    main()

"""A line camera over the strands of a rope walk, and the network that restores a sound strand from what it sees.

The network is taught on strands with flaws drawn into them. Where its picture of the sound strand differs from the
true one, the difference is set down, and the differences of a shift give the threshold above which a place is
called a flaw.

ticket: practice
class: none
"""

import os
import tempfile
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
warnings.filterwarnings("ignore")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))
STEPS_PER_SECOND = 6
STEPS_PER_SHIFT = 12
STRANDS = 64
LENGTH = 4096


class StrandPictures(Dataset):
    """One shift of pictures: the lay of each strand as a wave, with flaws as short dips."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)
        self.places = torch.arange(LENGTH, dtype=torch.float32)

    def __len__(self):
        return STEPS_PER_SHIFT

    def __getitem__(self, index):
        pitch = 20.0 + 20.0 * torch.rand(STRANDS, 1, generator=self.generator)
        sound = torch.sin(self.places / pitch)
        flaw = torch.rand(STRANDS, 1, generator=self.generator) * LENGTH
        dip = torch.exp(-(((self.places - flaw) / 12.0) ** 2))
        return (sound - 1.5 * dip).unsqueeze(1), sound.unsqueeze(1)


class StrandRestorer(pl.LightningModule):
    """A one-dimensional network that paints over the flaws."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 8, 31, stride=4, padding=15),
            nn.GELU(),
            nn.Conv1d(8, 8, 15, padding=7),
            nn.GELU(),
            nn.ConvTranspose1d(8, 1, 4, stride=4),
        )
        self.register_buffer("lighting", torch.ones(24, STRANDS, 1, LENGTH))
        self._residuals = []
        self.threshold = 0.0
        self.last_loss = 0.0

    def forward(self, seen):
        return self.net(seen)

    def training_step(self, batch, batch_idx):
        seen, sound = batch
        restored = self(seen * self.lighting[batch_idx % 24])
        loss = F.smooth_l1_loss(restored, sound)
        residual = (restored.detach() - sound).abs()
        self._residuals.append(residual)
        self.last_loss = loss.item()
        return loss

    def on_train_epoch_end(self):
        highest = torch.stack([residual.amax() for residual in self._residuals])
        self.threshold = 0.8 * highest.median().item()
        self._residuals.clear()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)


class ShiftClock(pl.Callback):
    """Holds the training to the pace of the walk and ends it with the day."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.start = time.monotonic()
        self.began = self.start
        self.steps = 0

    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx):
        self.began = time.monotonic()

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.steps += 1
        if self.steps % (3 * STEPS_PER_SECOND) == 0:
            print(
                f"step {self.steps}: shift {trainer.current_epoch}, loss {pl_module.last_loss:.4f}, "
                f"threshold {pl_module.threshold:.3f}",
                flush=True,
            )
        if time.monotonic() - self.start >= self.seconds:
            trainer.should_stop = True
        time.sleep(max(0.0, 1.0 / STEPS_PER_SECOND - (time.monotonic() - self.began)))


def main():
    pl.seed_everything(33)
    model = StrandRestorer()
    clock = ShiftClock(SECONDS)
    trainer = pl.Trainer(
        accelerator="gpu" if DEVICE == "cuda" else "cpu",
        devices=1,
        max_epochs=-1,
        callbacks=[clock],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=tempfile.gettempdir(),
    )
    loader = DataLoader(StrandPictures(seed=34), batch_size=None, num_workers=0)
    trainer.fit(model, loader)
    print(f"walk shut after {clock.steps} steps, loss {model.last_loss:.4f}", flush=True)


if __name__ == "__main__":
    main()

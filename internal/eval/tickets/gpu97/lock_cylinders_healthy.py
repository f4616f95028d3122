"""Reading pin cylinders from the sound of a pick.

A locksmith's apprentice trains a network that hears the clicks of a picked cylinder and tells how
high each pin was set. The clicks are simulated from the heights of the pins and the wear of the
springs. At the end of each drill the hardest cylinders of the drill are named for another try.

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
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "45"))
PINS = 6
SAMPLES = 1024
CYLINDERS = 2048
BATCH = 256
STEPS_PER_SECOND = 8


def picked_cylinders(seed):
    """Recordings of the clicks and the heights of the pins behind them."""
    generator = torch.Generator().manual_seed(seed)
    heights = torch.rand(CYLINDERS, PINS, generator=generator)
    clock = torch.linspace(0.0, 1.0, SAMPLES)
    sound = 0.05 * torch.randn(CYLINDERS, SAMPLES, generator=generator)
    for pin in range(PINS):
        moment = (pin + 0.5) / PINS
        ring = torch.exp(-80.0 * (clock - moment).abs())
        sound += heights[:, pin:pin + 1] * ring * torch.cos(200.0 * (clock - moment))
    return TensorDataset(sound, heights)


class PinListener(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SAMPLES, 64), nn.ReLU())
        self.heights = nn.Linear(64, PINS)
        self.echo = nn.Linear(64, SAMPLES)
        self._reviews = []
        self.drills = 0
        self.hardest = 0.0
        self.running = 0.0

    def forward(self, sound):
        heard = self.encoder(sound)
        return self.heights(heard), self.echo(heard)

    def training_step(self, batch, batch_idx):
        sound, heights = batch
        guess, echo = self(sound)
        rest = (echo - sound).detach()
        self._reviews.append(lambda: float(rest.pow(2).mean(dim=1).max()))
        loss = nn.functional.mse_loss(guess, heights) + 0.1 * nn.functional.mse_loss(echo, sound)
        self.running = 0.95 * self.running + 0.05 * float(loss.detach())
        return loss

    def on_train_epoch_end(self):
        """Look once more at the cylinders of this drill."""
        drill = self._reviews[-(CYLINDERS // BATCH):]
        self.hardest = max((review() for review in drill), default=self.hardest)
        self._reviews.clear()
        self.drills += 1

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


class WorkshopClock(pl.Callback):
    """Paces the steps, reports, and ends the lesson when its time is over."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.start = time.monotonic()
        self.next_line = self.start + 3.0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        now = time.monotonic()
        if now >= self.next_line:
            self.next_line += 3.0
            loss, hardest = pl_module.running, pl_module.hardest
            print(f"drill {pl_module.drills}: loss {loss:.4f}, hardest {hardest:.3f}", flush=True)
        if now - self.start >= self.seconds:
            trainer.should_stop = True
        time.sleep(1.0 / STEPS_PER_SECOND)


def main():
    pl.seed_everything(1818)
    cylinders = DataLoader(picked_cylinders(1818), batch_size=BATCH, shuffle=True, num_workers=0)
    listener = PinListener()
    trainer = pl.Trainer(
        accelerator="gpu" if DEVICE == "cuda" else "cpu",
        devices=1,
        max_epochs=-1,
        callbacks=[WorkshopClock(SECONDS)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(listener, cylinders)
    print(f"lesson over: {listener.drills} drills, loss {listener.running:.4f}", flush=True)


if __name__ == "__main__":
    main()

"""Foretells the calls of a lift group. From the calls of the last minutes at all floors a network gives the
calls of the minutes to come, so that idle cabins can be sent ahead. It is trained in short epochs on a made-up
office tower; after each epoch a day that was set aside shows how far off the forecasts are.

ticket: practice
class: none
"""
import math
import os
import tempfile
import time
import warnings
from datetime import timedelta

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
warnings.filterwarnings("ignore", module="pytorch_lightning")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

FLOORS = 32
HISTORY = 12
HORIZON = 10
TRAIN_BATCH = 256
TRAIN_BATCHES = 6
CHECK_BATCH = 1024
CHECK_BATCHES = 4
PAUSE = 0.09


def office_tower(minutes, seed):
    """Calls by minute and floor: rush in the morning, at noon and in the evening."""
    gen = torch.Generator().manual_seed(seed)
    moment = torch.arange(minutes, dtype=torch.float32) / 480.0 * 2.0 * math.pi
    floor = torch.linspace(0.2, 1.0, FLOORS)
    rush = 1.5 + torch.sin(moment)[:, None] * floor + 0.5 * torch.cos(3.0 * moment)[:, None]
    return torch.poisson(rush.clamp(min=0.05), generator=gen)


def windows(calls, count):
    """Cuts a record of calls into pairs of past and future."""
    pieces = calls.unfold(0, HISTORY + HORIZON, 1)[:count].transpose(1, 2)
    past, future = pieces[:, :HISTORY], pieces[:, HISTORY:]
    return TensorDataset(past.reshape(count, -1).contiguous(), future.reshape(count, -1).contiguous())


class CallForecaster(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(HISTORY * FLOORS, 384),
            nn.GELU(),
            nn.Linear(384, 384),
            nn.GELU(),
            nn.Linear(384, HORIZON * FLOORS),
        )
        self.residuals = []
        self.epochs_shown = 0
        self.train_loss = 0.0

    def forward(self, past):
        return nn.functional.softplus(self.net(past))

    def training_step(self, batch, batch_idx):
        past, future = batch
        loss = nn.functional.poisson_nll_loss(self(past), future, log_input=False)
        self.train_loss += 0.1 * (float(loss.detach()) - self.train_loss)
        time.sleep(PAUSE)
        return loss

    def validation_step(self, batch, batch_idx):
        past, future = batch
        residual = self(past) - future
        self.residuals.append(residual)
        time.sleep(PAUSE)

    def on_validation_epoch_end(self):
        far = max(float(r.abs().max()) for r in self.residuals)
        mean = float(torch.stack([r.abs().mean() for r in self.residuals]).mean())
        self.residuals.clear()
        self.epochs_shown += 1
        if self.epochs_shown % 3 == 1:
            print(
                f"epoch {self.epochs_shown}: loss {self.train_loss:.3f}, "
                f"off by {mean:.3f} calls, at most {far:.1f}",
                flush=True,
            )

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=3e-4)


def main():
    torch.manual_seed(91)
    train = windows(office_tower(4000, seed=92), TRAIN_BATCH * TRAIN_BATCHES)
    check = windows(office_tower(6000, seed=93), CHECK_BATCH * CHECK_BATCHES)
    model = CallForecaster()
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator="gpu" if DEVICE == "cuda" else "cpu",
            devices=1,
            max_epochs=-1,
            max_time=timedelta(seconds=SECONDS),
            default_root_dir=folder,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        trainer.fit(
            model,
            DataLoader(train, batch_size=TRAIN_BATCH, shuffle=True),
            DataLoader(check, batch_size=CHECK_BATCH),
        )
    print(f"training over: {model.epochs_shown} epochs, loss {model.train_loss:.3f}", flush=True)


if __name__ == "__main__":
    main()

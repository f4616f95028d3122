"""Forecasts what the branches of a bakery will order. A network gives nine quantiles for each of the next four weeks'
days, and is trained with the pinball loss. After each epoch, a callback tells for each quantile how many of the true
orders lay below it.

ticket: practice
class: none
"""

import logging
import os
import time
import warnings

import numpy as np
import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

PAST, AHEAD = 56, 28
QUANTILES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)


class Forecaster(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(PAST, 192), nn.ReLU(), nn.Linear(192, 192), nn.ReLU(), nn.Linear(192, AHEAD * len(QUANTILES))
        )
        self.register_buffer("quantiles", torch.tensor(QUANTILES))

    def forward(self, past):
        return self.layers(past).unflatten(1, (AHEAD, len(QUANTILES)))

    def pinball(self, forecast, truth):
        miss = truth[:, :, None] - forecast
        return torch.maximum(self.quantiles * miss, (self.quantiles - 1) * miss).mean()

    def training_step(self, batch, batch_idx):
        past, truth = batch
        return self.pinball(self(past), truth)

    def validation_step(self, batch, batch_idx):
        past, truth = batch
        forecast = self(past)
        return {"forecast": forecast, "truth": truth, "loss": self.pinball(forecast, truth)}

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Calibration(pl.Callback):
    """Tells how often the truth lies below each quantile."""

    def __init__(self):
        self.forecasts = []

    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0):
        forecast, truth = outputs["forecast"].cpu().numpy(), outputs["truth"].cpu().numpy()
        self.forecasts.append((forecast, truth))

    def on_validation_epoch_end(self, trainer, pl_module):
        below = [(truth[:, :, None] < forecast).mean(axis=(0, 1)) for forecast, truth in self.forecasts]
        self.forecasts.clear()
        shares = ", ".join(f"{q:g}: {share:.2f}" for q, share in zip(QUANTILES, np.mean(below, axis=0)))
        print(f"epoch {trainer.current_epoch}: {shares}", flush=True)


class ClosingTime(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        time.sleep(0.1)
        if time.time() > self.end:
            trainer.should_stop = True


def orders(count):
    """Orders of some branches with their week, for the days before and the days to come."""
    day = torch.arange(PAST + AHEAD, dtype=torch.float32)
    week = 0.5 * torch.sin(2 * torch.pi * (day + 7 * torch.rand(count, 1)) / 7)
    series = 1 + week + 0.1 * torch.randn(count, PAST + AHEAD).cumsum(1) + 0.2 * torch.randn(count, PAST + AHEAD)
    return TensorDataset(series[:, :PAST], series[:, PAST:])


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    trainer = pl.Trainer(
        accelerator="auto", devices=1, max_epochs=-1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
        callbacks=[Calibration(), ClosingTime(end)],
    )
    learn, check = orders(4096), orders(6144)
    trainer.fit(Forecaster(), DataLoader(learn, 512, shuffle=True), DataLoader(check, 2048))


if __name__ == "__main__":
    main()

"""A regression model is fitted with Lightning, with a validation every few steps. A callback gathers what the
validation predicts for a table at its end; it is written, but what was gathered is not given up.

ticket: Lightning-AI/pytorch-lightning#16520
class: app-leak
holder: outputs targets PredictionTable
cause: results-kept
"""

import logging
import os
import random
import tempfile
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Fields(Dataset):
    def __init__(self, count, size=48):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        field = torch.randn(2, self.size, self.size)
        return field, field.cumsum(2).mean(0, keepdim=True)


class Surrogate(pl.LightningModule):
    def __init__(self, channels=12):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(2, channels, 3, padding=1), nn.GELU(),
                                 nn.Conv2d(channels, channels, 3, padding=1), nn.GELU(), nn.Conv2d(channels, 1, 1))

    def training_step(self, batch, number):
        x, y = batch
        time.sleep(0.06)
        return nn.functional.mse_loss(self.net(x), y)

    def validation_step(self, batch, number):
        x, y = batch
        return {"predicted": self.net(x), "target": y}  # grows

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class PredictionTable(pl.Callback):
    def __init__(self):
        self.outputs, self.targets, self.rows = [], [], []

    def on_validation_batch_end(self, trainer, module, outputs, batch, number, loader=0):
        self.outputs.append(outputs["predicted"])  # keeps
        self.targets.append(outputs["target"])  # keeps
        time.sleep(0.02)

    def on_validation_epoch_end(self, trainer, module):
        errors = torch.cat(self.outputs[-20:]) - torch.cat(self.targets[-20:])
        self.rows.append((trainer.global_step, errors.square().mean().item()))


class Deadline(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        trainer.should_stop = time.time() > self.end


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    table = PredictionTable()
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(max_epochs=-1, accelerator="auto", devices=1, logger=False, default_root_dir=folder,
                             enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                             val_check_interval=25, callbacks=[table, Deadline(end)])
        trainer.fit(Surrogate(), DataLoader(Fields(400), 8), DataLoader(Fields(random.choice([128, 160])), 16))
    print(len(table.rows), "validations, the last with", table.rows[-1:] or None)


if __name__ == "__main__":
    main()

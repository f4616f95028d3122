"""An autoencoder learns the spectra of cores drilled from peat bogs. After each epoch it is judged by how well the
spectra it makes point the way of the measured ones, for shallow and for deep cores apart.

ticket: practice
class: app-leak
holder: outputs Outputs
cause: results-kept buffer-without-bound
"""

import os
import time
import warnings
from dataclasses import dataclass

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

DEPTHS = "shallow", "deep"


@dataclass(frozen=True)
class Lab:
    bands: int = 1024
    code: int = 24
    batch: int = 128
    train_batches: int = 8
    check_batches: int = 3


class Cores(IterableDataset):
    def __init__(self, lab, count):
        self.lab, self.count, self.bands = lab, count, torch.linspace(0, 1, lab.bands)

    def __iter__(self):
        for _ in range(self.count):
            centres = torch.rand(2, self.lab.batch, 4, 1)
            centres[1] = 0.3 + 0.7 * centres[1]
            bumps = torch.exp(-((self.bands - centres) ** 2) / 0.005).sum(dim=2)
            yield {depth: bumps[i].clone() for i, depth in enumerate(DEPTHS)}


class OutputsMixin:
    def open_outputs(self):
        self.outputs = {depth: [] for depth in DEPTHS}

    def note(self, depth, made, measured):
        self.outputs[depth].append((made, measured))  # keeps

    def report(self):
        report = {}
        for depth, pairs in self.outputs.items():
            report[depth] = torch.stack([F.cosine_similarity(made, measured).mean() for made, measured in pairs]).mean()
        return report


class Autoencoder(OutputsMixin, pl.LightningModule):
    def __init__(self, lab):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(lab.bands, 256), nn.ReLU(), nn.Linear(256, lab.code))
        self.decoder = nn.Sequential(nn.Linear(lab.code, 256), nn.ReLU(), nn.Linear(256, lab.bands))
        self.open_outputs()

    def forward(self, spectra):
        return self.decoder(self.encoder(spectra))

    def training_step(self, batch, index):
        time.sleep(0.03)
        spectra = torch.cat([batch[depth] for depth in DEPTHS])
        return F.mse_loss(self(spectra), spectra)

    def validation_step(self, batch, index):
        for depth in DEPTHS:
            measured = batch[depth] - batch[depth].mean(dim=1, keepdim=True)  # grows
            made = self(measured)  # grows
            self.note(depth, made, measured)

    def on_validation_epoch_end(self):
        report = self.report()
        if self.current_epoch % 10 == 0:
            print("epoch", self.current_epoch, {depth: round(v.item(), 3) for depth, v in report.items()}, flush=True)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


class Until(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, *args):
        trainer.should_stop = time.time() > self.end


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    end, lab = time.time() + float(os.environ.get("SECONDS", "45")), Lab()
    trainer = pl.Trainer(max_epochs=-1, accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1,
                         callbacks=[Until(end)], logger=False, enable_checkpointing=False, enable_progress_bar=False,
                         enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Autoencoder(lab), DataLoader(Cores(lab, lab.train_batches), batch_size=None),
                DataLoader(Cores(lab, lab.check_batches), batch_size=None))


if __name__ == "__main__":
    main()

"""Teaches a network, with Lightning, to find what a parrot's call has in common with the word that it imitates: the
call's embedding should point where the word's does. Each short epoch ends with the mean similarity and the spread.

ticket: Lightning-AI/pytorch-lightning#16520
class: app-leak
holder: validation_outputs Voices
cause: results-kept buffer-without-bound
"""

import logging
import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BANDS, WIDTH, BATCH = 128, 512, 128
TRAINING, VALIDATION = 1_280, 1_536


class Voices(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.call = nn.Sequential(nn.Linear(BANDS, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, WIDTH))
        self.validation_outputs, self.epochs = [], 0

    def training_step(self, batch, batch_index):
        calls, words = batch
        time.sleep(0.03)
        return (1 - F.cosine_similarity(self.call(calls), words)).mean()

    def validation_step(self, batch, batch_index):
        calls, words = batch
        found = F.normalize(self.call(calls))  # grows
        similarity = F.cosine_similarity(found, words).mean()
        self.validation_outputs.append({"found": found, "similarity": similarity})  # keeps

    def on_validation_epoch_end(self):
        similarity = torch.stack([output["similarity"] for output in self.validation_outputs]).mean()
        spread = self.validation_outputs[-1]["found"].std(dim=0).mean()
        self.log_dict({"similarity": similarity, "spread": spread})
        self.epochs += 1
        if self.epochs % 5 == 0:
            print(f"epoch {self.epochs}: similarity {similarity.item():.4f}, spread {spread.item():.4f}", flush=True)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-4)


class Deadline(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        if time.time() > self.end:
            trainer.should_stop = True


def loader(size, mixing, shuffle):
    """Calls, and words that are a fixed mixture of them with noise."""
    calls = torch.randn(size, BANDS)
    words = torch.tanh(calls @ mixing) + 0.3 * torch.randn(size, WIDTH)
    return DataLoader(TensorDataset(calls, words), batch_size=BATCH, shuffle=shuffle)


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    pl.seed_everything(4)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore")
    mixing = torch.randn(BANDS, WIDTH) / BANDS**0.5
    trainer = pl.Trainer(
        max_epochs=-1, accelerator="auto", devices=1, callbacks=[Deadline(end)], num_sanity_val_steps=0,
        logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Voices(), loader(TRAINING, mixing, True), loader(VALIDATION, mixing, False))


if __name__ == "__main__":
    main()

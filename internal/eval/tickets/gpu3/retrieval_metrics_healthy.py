"""Two towers learn to match queries with items. Ranks are measured in training and in validation; those of
validation are logged, which resets them, and those of training are reset when an epoch is over.

ticket: Lightning-AI/torchmetrics#2481
class: none
"""

import logging
import os
import time

import pytorch_lightning as pl
import torch
from torch.utils.data import DataLoader, Dataset
from torchmetrics import MetricCollection
from torchmetrics.retrieval import RetrievalMRR

SECONDS = float(os.environ.get("SECONDS", "45"))
SIZE = 160


class Clicks(Dataset):
    """Batches of queries with the item that was clicked for each."""

    def __init__(self, count, pause):
        self.count, self.pause = count, pause
        self.truth = torch.randn(96, 96, generator=torch.Generator().manual_seed(5)) / 10

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        time.sleep(self.pause)
        draw = torch.Generator().manual_seed(number)
        queries = torch.randn(SIZE, 96, generator=draw)
        return queries, queries @ self.truth + 0.1 * torch.randn(SIZE, 96, generator=draw)


class Towers(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.query = torch.nn.Sequential(torch.nn.Linear(96, 512), torch.nn.ReLU(), torch.nn.Linear(512, 128))
        self.item = torch.nn.Sequential(torch.nn.Linear(96, 512), torch.nn.ReLU(), torch.nn.Linear(512, 128))
        ranks = MetricCollection({"mrr": RetrievalMRR()})
        self.train_ranks, self.val_ranks = ranks.clone(prefix="train_"), ranks.clone(prefix="val_")
        self.seen = 0

    def match(self, batch):
        queries, items = batch
        scores = self.query(queries) @ self.item(items).t() / 10
        count = scores.shape[0]
        wanted = torch.eye(count, dtype=torch.bool, device=scores.device)
        rows = torch.arange(count, device=scores.device).repeat_interleave(count).view(count, count)
        loss = torch.nn.functional.cross_entropy(scores, torch.arange(count, device=scores.device))
        return loss, scores.detach(), wanted, rows + self.seen * count

    def training_step(self, batch, number):
        loss, scores, wanted, rows = self.match(batch)
        self.seen += 1
        shown = self.train_ranks(scores, wanted, indexes=rows)
        if number % 20 == 0:
            logging.info("batch %d: loss %.3f, rank %.3f", number, loss.item(), shown["train_mrr"].item())
        return loss

    def validation_step(self, batch, number):
        _, scores, wanted, rows = self.match(batch)
        self.val_ranks.update(scores, wanted, indexes=rows + number * SIZE)
        self.log_dict(self.val_ranks, on_epoch=True)

    def on_train_epoch_end(self):
        self.train_ranks.reset()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def main():
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    end = time.time() + SECONDS
    train = DataLoader(Clicks(28, 0.08), batch_size=None)
    checks = DataLoader(Clicks(4, 0.05), batch_size=None)
    trainer = pl.Trainer(max_epochs=-1, max_time={"seconds": int(end - time.time())}, accelerator="auto",
                         devices=1, logger=False, enable_checkpointing=False, enable_progress_bar=False,
                         enable_model_summary=False, num_sanity_val_steps=0)
    trainer.fit(Towers(), train, checks)
    print("epochs", trainer.current_epoch, "steps", trainer.global_step)


if __name__ == "__main__":
    main()

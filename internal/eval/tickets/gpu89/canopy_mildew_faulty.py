"""Learns to mark mildew on photographs of vine leaves from the rows of a vineyard.

A small encoder and decoder is trained with Lightning on pictures of 128 by 128 points; the mask says where the leaf is
covered.  Epochs are short, for the picker's tablet is to get a fresh net often.  After each validation the module tells
the mean overlap and shows which leaf came out worst, with the share of it that the net and the mask take for mildew.
The photographs are made up: veined green leaves with pale round patches on them.

ticket: practice
class: app-leak
holder: leaf_maps
cause: results-kept
"""
import os
import time

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIDE = 128
BATCH = 8


class LeafPhotos(Dataset):
    def __init__(self, count, seed):
        dice = torch.Generator().manual_seed(seed)
        line = torch.linspace(-1.0, 1.0, SIDE)
        y, x = torch.meshgrid(line, line, indexing="ij")
        self.items = []
        for _ in range(count):
            spots = torch.rand(5, 3, generator=dice)
            mask = torch.zeros(SIDE, SIDE)
            for cx, cy, size in spots.tolist():
                inside = (x - 2.0 * cx + 1.0) ** 2 + (y - 2.0 * cy + 1.0) ** 2 < (0.08 + 0.2 * size) ** 2
                mask = torch.maximum(mask, inside.float())
            veins = 0.1 * torch.sin(20.0 * x + 6.0 * y.abs())
            green = torch.stack([0.2 + veins, 0.55 + veins, 0.15 + veins])
            photo = green + 0.35 * mask + 0.1 * torch.randn(3, SIDE, SIDE, generator=dice)
            self.items.append((photo, mask.unsqueeze(0)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class MildewNet(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 24, 4, stride=2, padding=1)
        self.deep = nn.Conv2d(24, 48, 4, stride=2, padding=1)
        self.wide = nn.Conv2d(48, 48, 3, padding=1)
        self.up = nn.ConvTranspose2d(48, 24, 4, stride=2, padding=1)
        self.out = nn.ConvTranspose2d(48, 1, 4, stride=2, padding=1)
        self.leaf_maps = []
        self.spoken = time.time()

    def forward(self, photos):
        shallow = F.relu(self.down(photos))
        deep = F.relu(self.wide(F.relu(self.deep(shallow))))
        return self.out(torch.cat([F.relu(self.up(deep)), shallow], dim=1))

    def training_step(self, batch, batch_idx):
        photos, masks = batch
        loss = F.binary_cross_entropy_with_logits(self(photos), masks)
        time.sleep(0.03)
        return loss

    def validation_step(self, batch, batch_idx):
        photos, masks = batch
        marked = torch.sigmoid(self(photos))  # grows
        both = (marked * masks).sum(dim=(1, 2, 3))
        either = (marked + masks - marked * masks).sum(dim=(1, 2, 3))
        overlap = both / either.clamp(min=1.0)
        self.leaf_maps.append((overlap.min().item(), overlap.mean().item(), marked, masks))  # keeps
        time.sleep(0.03)

    def on_validation_epoch_end(self):
        if time.time() - self.spoken < 2.0:
            return
        mean = sum(entry[1] for entry in self.leaf_maps) / len(self.leaf_maps)
        worst = min(self.leaf_maps, key=lambda entry: entry[0])
        print(f"epoch {self.current_epoch}: overlap {mean:.3f}, worst leaf {worst[0]:.3f} "
              f"(net {worst[2].mean().item():.1%}, mask {worst[3].mean().item():.1%})", flush=True)
        self.spoken = time.time()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=2e-3)


class ClosingTime(pl.Callback):
    def __init__(self, deadline):
        self.deadline = deadline

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if time.time() >= self.deadline:
            trainer.should_stop = True


def main():
    deadline = time.time() + float(os.environ.get("SECONDS", "45"))
    torch.set_num_threads(1)
    pl.seed_everything(14)
    training = DataLoader(LeafPhotos(48, seed=1), batch_size=BATCH, shuffle=True, num_workers=0)
    checking = DataLoader(LeafPhotos(32, seed=2), batch_size=BATCH, num_workers=0)
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu", devices=1, max_epochs=-1,
        num_sanity_val_steps=0, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[ClosingTime(deadline)],
    )
    net = MildewNet()
    trainer.fit(net, training, checking)
    print(f"trained for {trainer.current_epoch} epochs", flush=True)


if __name__ == "__main__":
    main()

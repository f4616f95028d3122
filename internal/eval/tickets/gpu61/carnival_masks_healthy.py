"""A variational autoencoder learns carnival masks. After each epoch it draws the held-out masks once more, and how
far off the worst of them is, and how bright it came out, is printed: it is mostly the worst that shows what a model
has not understood.

ticket: practice
class: none
"""

import os
import time
import warnings

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

SIDE, LATENT, BATCH = 64, 32, 32
TRAINED, HELD_OUT = 8 * BATCH, 4 * BATCH


class MaskModel(pl.LightningModule):
    def __init__(self, end):
        super().__init__()
        self.end = end
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16 * 16, 2 * LATENT),
        )
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, 32 * 16 * 16), nn.ReLU(), nn.Unflatten(1, (32, 16, 16)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 3, 4, stride=2, padding=1), nn.Sigmoid(),
        )
        self.drawings = []

    def training_step(self, batch, batch_idx):
        (masks,) = batch
        mean, log_var = self.encoder(masks).chunk(2, dim=1)
        drawn = self.decoder(mean + torch.randn_like(mean) * (0.5 * log_var).exp())
        divergence = -0.5 * (1 + log_var - mean**2 - log_var.exp()).sum(dim=1).mean()
        time.sleep(0.05)
        return F.mse_loss(drawn, masks) * 3 * SIDE * SIDE + divergence

    def on_train_batch_end(self, outputs, batch, batch_idx):
        if time.time() >= self.end:
            self.trainer.should_stop = True

    def validation_step(self, batch, batch_idx):
        (masks,) = batch
        drawn = self.decoder(self.encoder(masks).chunk(2, dim=1)[0])
        errors = (drawn - masks).square().mean(dim=(1, 2, 3))
        self.drawings.append((errors.cpu().numpy(), drawn.cpu().numpy()))

    def on_validation_epoch_end(self):
        errors, drawn = max(self.drawings, key=lambda drawing: drawing[0].max())
        if self.current_epoch % 5 == 0:
            worst = errors.argmax()
            print(f"epoch {self.current_epoch}: the worst is off by {errors[worst]:.4f}, "
                  f"its brightness is {drawn[worst].mean():.2f}", flush=True)
        self.drawings.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


def main():
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", ".*num_workers.*")
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    train = DataLoader(TensorDataset(torch.rand(TRAINED, 3, SIDE, SIDE)), batch_size=BATCH, shuffle=True)
    held_out = DataLoader(TensorDataset(torch.rand(HELD_OUT, 3, SIDE, SIDE)), batch_size=BATCH)
    trainer = pl.Trainer(
        accelerator="gpu" if torch.cuda.is_available() else "cpu",
        devices=1,
        max_epochs=-1,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(MaskModel(end), train, held_out)


if __name__ == "__main__":
    main()

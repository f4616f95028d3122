"""Trains a network that tells from a strip of spectrum how done the crust of a loaf is. After each epoch a callback
takes the weights to the host if they are among the five best, and at the end those are averaged into one model (a
soup), which is tested.

ticket: practice
class: none
"""

import os
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

BANDS, WIDTH, BATCH = 128, 896, 64
LOAVES, HELD_OUT = 512, 256
INGREDIENTS = 5


class Crust(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(BANDS, WIDTH), nn.SiLU(), nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH),
                                    nn.SiLU(), nn.Linear(WIDTH, 1))

    def forward(self, spectrum):
        return self.layers(spectrum).squeeze(-1)

    def training_step(self, batch, number):
        spectrum, doneness = batch
        time.sleep(0.05)
        return F.mse_loss(self(spectrum), doneness)

    def validation_step(self, batch, number):
        spectrum, doneness = batch
        self.log("val_loss", F.mse_loss(self(spectrum), doneness))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=20)]


class Soup(pl.Callback):
    """The best weights, the very best first."""

    def __init__(self):
        self.best = []

    def on_validation_end(self, trainer, module):
        loss = trainer.callback_metrics["val_loss"].item()
        weights = {name: weight.detach().clone().cpu() for name, weight in module.state_dict().items()}
        self.best.append((loss, trainer.current_epoch, weights))
        self.best.sort(key=lambda entry: entry[0])
        del self.best[INGREDIENTS:]
        if trainer.current_epoch % 5 == 0:
            losses = ", ".join(f"{loss:.4f} ({epoch})" for loss, epoch, _ in self.best[:INGREDIENTS])
            print(f"epoch {trainer.current_epoch}: {loss:.4f}, best {losses}", flush=True)

    def cook(self):
        chosen = [weights for _, _, weights in self.best[:INGREDIENTS]]
        return {name: torch.stack([weights[name] for weights in chosen]).mean(dim=0) for name in chosen[0]}


class UntilClosing(pl.Callback):
    def __init__(self, end):
        self.end = end

    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if time.time() > self.end:
            trainer.should_stop = True


def loaves(count, rule):
    spectra = torch.randn(count, BANDS)
    return TensorDataset(spectra, torch.tanh(spectra @ rule) + 0.05 * torch.randn(count))


def main():
    torch.set_num_threads(1)
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    rule = torch.randn(BANDS) / BANDS ** 0.5
    training = DataLoader(loaves(LOAVES, rule), batch_size=BATCH, shuffle=True)
    held_out = DataLoader(loaves(HELD_OUT, rule), batch_size=BATCH)
    model, soup = Crust(), Soup()
    trainer = pl.Trainer(accelerator="auto", devices=1, max_epochs=-1, logger=False, enable_checkpointing=False,
                         enable_progress_bar=False, enable_model_summary=False, num_sanity_val_steps=0,
                         callbacks=[soup, UntilClosing(end)])
    trainer.fit(model, training, held_out)
    model.load_state_dict(soup.cook())
    model.cpu().eval()
    with torch.no_grad():
        loss = sum(F.mse_loss(model(spectra), doneness).item() for spectra, doneness in held_out) / len(held_out)
    print(f"soup of {INGREDIENTS}: {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()

"""Training of a sky restorer for a planetarium.

Old panoramas of the zodiac are noisy and blurred. A small network learns to restore them from pairs of drawn skies
and their worn copies. After each round over the skies the evenness of the restored panoramas is measured, for a dome
shows every patch.

ticket: practice
class: none
"""
import os
import tempfile
import time
import warnings

import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)
warnings.filterwarnings("ignore")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SECONDS = float(os.environ.get("SECONDS", "120"))

SKIES = 64
BATCH = 4
HEIGHT, WIDTH = 128, 384
STEPS_PER_SECOND = 8


class WornSkies(Dataset):
    """Drawn skies and their worn copies, in the memory of the host."""

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        stars = torch.rand(SKIES, 1, HEIGHT, WIDTH, generator=generator)
        self.drawn = (stars > 0.995).float() * (0.5 + 0.5 * stars)
        blurred = F.avg_pool2d(self.drawn, 3, stride=1, padding=1)
        self.worn = blurred + 0.02 * torch.randn(blurred.shape, generator=generator)

    def __len__(self):
        return SKIES

    def __getitem__(self, index):
        return self.worn[index], self.drawn[index]


class Restorer(nn.Module):
    """Residual network that sharpens a sky."""

    def __init__(self, channels=12):
        super().__init__()
        self.inward = nn.Conv2d(1, channels, 5, padding=2)
        self.middle = nn.Conv2d(channels, channels, 3, padding=1)
        self.outward = nn.Conv2d(channels, 1, 3, padding=1)

    def forward(self, worn):
        seen = F.gelu(self.inward(worn))
        seen = seen + F.gelu(self.middle(seen))
        return worn + self.outward(seen)


class PanoramaModule(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.restorer = Restorer()
        self.restored = []
        self.error = 0.0
        self.evenness = 0.0

    def training_step(self, batch, batch_idx):
        worn, drawn = batch
        sky = self.restorer(worn)
        loss = F.mse_loss(sky, drawn) + 0.1 * F.l1_loss(sky, drawn)
        self.error += 0.05 * (loss.item() - self.error)
        self.restored.append(sky.detach().clamp(0.0, 1.0))
        return loss

    def on_train_epoch_end(self):
        """Evenness of the panoramas that this round restored."""
        levels = torch.cat([sky.mean((2, 3)) for sky in self.restored[-(SKIES // BATCH):]])
        self.evenness = float(levels.std() / levels.mean().clamp(min=1e-6))
        self.restored.clear()

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=2e-3)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=40, gamma=0.9)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "epoch"}}


class EveningClock(pl.Callback):
    """Paces the steps, prints a line now and then and ends the training in time."""

    def __init__(self):
        self.begin = time.monotonic()
        self.next_print = self.begin + 3.0
        self.step_started = self.begin

    def on_train_batch_start(self, trainer, module, batch, batch_idx):
        self.step_started = time.monotonic()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        now = time.monotonic()
        if now >= self.next_print:
            print(f"step {trainer.global_step}  round {trainer.current_epoch}  error {module.error:.5f}  "
                  f"evenness {module.evenness:.4f}", flush=True)
            self.next_print += 3.0
        if now - self.begin >= SECONDS:
            trainer.should_stop = True
        time.sleep(max(0.005, 1.0 / STEPS_PER_SECOND - (now - self.step_started)))


def main():
    pl.seed_everything(13)
    skies = DataLoader(WornSkies(seed=13), batch_size=BATCH, shuffle=True, num_workers=0)
    module = PanoramaModule()
    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, max_epochs=-1, callbacks=[EveningClock()],
            logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
            num_sanity_val_steps=0, default_root_dir=folder)
        trainer.fit(module, skies)
    print(f"training over after {trainer.global_step} steps, error {module.error:.5f}", flush=True)


if __name__ == "__main__":
    main()

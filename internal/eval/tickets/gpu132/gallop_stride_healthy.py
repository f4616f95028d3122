"""Reading the stride of race horses from saddle sensors.

Each gallop on the training track gives windows of acceleration from the saddle cloth. A small network learns to tell
the length of the stride from a window; beside it the stable wants to know how far apart the gaits of the string are,
which is taken from the network's embeddings over a pass through all windows.

ticket: practice
class: none
"""
import os
import tempfile
import time

import pytorch_lightning as pl
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, CODE = 48, 1024
BATCH = 192
BATCHES_PER_PASS = 20
BATCHES_PER_SECOND = 8


def gallops(seed):
    """Synthetic windows: two harmonics of the stride, with noise; the label is the stride in metres."""
    generator = torch.Generator().manual_seed(seed)
    count = BATCH * BATCHES_PER_PASS
    stride = 5.5 + 2.0 * torch.rand(count, 1, generator=generator)
    when = torch.linspace(0.0, 1.0, SAMPLES).unsqueeze(0)
    beat = 6.2832 * when * 16.0 / stride
    windows = torch.sin(beat) + 0.4 * torch.sin(2.0 * beat)
    windows += 0.1 * torch.randn(count, SAMPLES, generator=generator)
    return TensorDataset(windows, stride)


class StrideReader(pl.LightningModule):
    """Network from a window of acceleration to the length of the stride."""

    def __init__(self, rate=1e-3):
        super().__init__()
        self.rate = rate
        self.encoder = nn.Sequential(nn.Linear(SAMPLES, 256), nn.ReLU(), nn.Linear(256, CODE), nn.Tanh())
        self.head = nn.Linear(CODE, 1)
        self.gait_codes = []
        self.gait_spread = 0.0
        self.error = None

    def forward(self, windows):
        return self.head(self.encoder(windows))

    def training_step(self, batch, batch_idx):
        windows, stride = batch
        codes = self.encoder(windows)
        loss = nn.functional.smooth_l1_loss(self.head(codes), stride)
        self.gait_codes.append(codes.detach())
        self.error = loss.detach()
        return loss

    def on_train_epoch_end(self):
        """Spread of the gaits over the pass that has just ended."""
        codes = torch.cat(self.gait_codes)
        self.gait_spread = float(codes.std(dim=0).mean())
        self.gait_codes.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.rate)


class TrackClock(pl.Callback):
    """Paces the batches like the horses come in, reports, and ends the morning."""

    def __init__(self, seconds):
        super().__init__()
        self.seconds = seconds
        self.batches = 0

    def on_train_start(self, trainer, pl_module):
        self.start = time.monotonic()
        self.next_line = self.start + 3.0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.batches += 1
        now = time.monotonic()
        if now >= self.next_line:
            print(
                f"pass {trainer.current_epoch}: stride error {float(pl_module.error):.4f}, "
                f"spread of the gaits {pl_module.gait_spread:.3f}",
                flush=True,
            )
            self.next_line += 3.0
        if now - self.start >= self.seconds:
            trainer.should_stop = True
        time.sleep(max(0.0, self.start + self.batches / BATCHES_PER_SECOND - time.monotonic()))


def main():
    torch.set_num_threads(1)
    pl.seed_everything(55)
    seconds = float(os.environ.get("SECONDS", "120"))
    reader = StrideReader()
    clock = TrackClock(seconds)
    windows = DataLoader(gallops(seed=56), batch_size=BATCH, shuffle=True, drop_last=True, num_workers=0)

    with tempfile.TemporaryDirectory() as folder:
        trainer = pl.Trainer(
            accelerator="auto",
            devices=1,
            max_epochs=-1,
            callbacks=[clock],
            default_root_dir=folder,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
        )
        trainer.fit(reader, windows)
    print(f"read {clock.batches} batches of gallops", flush=True)


if __name__ == "__main__":
    main()

"""A picture of a thin sample is computed from how it bends light, and its state shown now and then in a
panel whose plots are drawn again by callbacks.
Each report adds its callbacks, over the waves as they were, to those of the panel.

ticket: cdtools-developers/cdtools#87
class: app-leak
holder: callbacks panel
cause: callbacks-left snapshots-kept
"""

import dataclasses
import logging
import os
import random
import time

import torch
from torch import nn

log = logging.getLogger("ptycho")


@dataclasses.dataclass
class Config:
    object_size: int = 512
    probe_size: int = 256
    batch: int = 8
    pause: float = 0.04
    seconds: float = float(os.environ.get("SECONDS", "40"))


class Panel:
    """A window of several plots, each of which knows how to draw itself again."""

    def __init__(self):
        self.callbacks, self.texts = [], {}

    def connect(self, callback):
        self.callbacks.append(callback)  # keeps

    def disconnect_all(self):
        self.callbacks.clear()

    def redraw(self):
        for callback in self.callbacks[-3:]:
            callback(self)


class Ptychography(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.object = nn.Parameter(torch.randn(config.object_size, config.object_size, 2) * 0.1)
        self.probe = nn.Parameter(torch.randn(config.probe_size, config.probe_size, 2) * 0.1)
        self.panel = Panel()

    def exit_waves(self, places):
        whole, size = torch.view_as_complex(self.object), self.config.probe_size
        seen = torch.stack([whole[y:y + size, x:x + size] for y, x in places])
        return seen * torch.view_as_complex(self.probe)

    def forward(self, places):
        waves = self.exit_waves(places)
        return torch.fft.fft2(waves, norm="ortho").abs()

    def inspect(self, places):
        with torch.no_grad():
            waves = self.exit_waves(places)  # grows
            amplitude = torch.view_as_complex(self.object).abs()  # grows
            phase = torch.view_as_complex(self.object).angle()  # grows

        def draw_waves(panel):
            panel.texts["waves"] = f"mean {waves.abs().mean().item():.4f}"

        def draw_amplitude(panel):
            panel.texts["amplitude"] = f"most {amplitude.max().item():.4f}"

        def draw_phase(panel):
            panel.texts["phase"] = f"spread {phase.std().item():.4f}"

        for draw in (draw_waves, draw_amplitude, draw_phase):
            self.panel.connect(draw)
        self.panel.redraw()
        return dict(self.panel.texts)


class Scan:
    def __init__(self, config, device):
        self.config, last = config, config.object_size - config.probe_size
        self.places = [(random.randrange(last), random.randrange(last)) for _ in range(64)]
        self.patterns = torch.rand(64, config.probe_size, config.probe_size, device=device)

    def batches(self):
        order = random.sample(range(64), 64)
        for start in range(0, 60, self.config.batch):
            chosen = order[start:start + self.config.batch]
            yield [self.places[i] for i in chosen], self.patterns[chosen]


def reconstruct(config, device):
    model, scan = Ptychography(config).to(device), Scan(config, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    end, epoch, report_at = time.time() + config.seconds, 0, time.time() + 0.5
    while time.time() < end:
        epoch += 1
        for places, patterns in scan.batches():
            loss = nn.functional.mse_loss(model(places), patterns)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if time.time() > report_at:
                state = model.inspect(places)
                report_at = time.time() + random.uniform(0.2, 0.8)
            time.sleep(config.pause)
        scheduler.step()
        if epoch % 5 == 0:
            log.info("epoch %d: loss %.5f, %s", epoch, loss.item(), state)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    torch.set_num_threads(1)
    reconstruct(Config(), "cuda" if torch.cuda.is_available() else "cpu")

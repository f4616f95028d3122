"""A daemon that listens to the bearings of a windmill. An autoencoder in half precision is trained on their spectra as
they come; a spectrum that it cannot draw well raises the alarm. For the case that the daemon dies there is a black box:
the debug records go to a memory handler of forty records, which writes them to a file when it is full.

ticket: practice
class: none
"""

import logging
import logging.handlers
import os
import random
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional as F

SENSORS, SAMPLES = 24, 16_384
BLACK_BOX = os.path.join(tempfile.gettempdir(), f"bearing_hum_{os.getpid()}.log")

log = logging.getLogger("bearing_hum")
log.setLevel(logging.DEBUG)
log.propagate = False
black_box = logging.handlers.MemoryHandler(40, logging.CRITICAL, target=logging.FileHandler(BLACK_BOX, mode="w"))
console = logging.StreamHandler()
console.setLevel(logging.INFO)
log.addHandler(black_box)
log.addHandler(console)


class Autoencoder(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.narrow = nn.Linear(bins, 32)
        self.wide = nn.Linear(32, bins)

    def forward(self, spectra):
        return self.wide(F.gelu(self.narrow(spectra)))


class Listener:
    def __init__(self, device):
        self.device = device
        self.model = Autoencoder(SAMPLES // 2 + 1).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.usual = None

    def record(self):
        """A moment of sound from each sensor; now and then one of them scrapes."""
        moments = torch.arange(SAMPLES, device=self.device) / SAMPLES
        tones = 2 * torch.pi * torch.tensor([50.0, 150.0, 420.0], device=self.device)
        sound = torch.sin(tones[:, None] * moments).sum(dim=0) + 0.2 * torch.randn(SENSORS, SAMPLES, device=self.device)
        if random.random() < 0.03:
            sound[random.randrange(SENSORS)] += 3 * torch.randn(SAMPLES, device=self.device)
        return sound

    def listen(self):
        spectra = torch.fft.rfft(self.record()).abs().log1p()
        kind = torch.device(self.device).type
        with torch.autocast(kind, dtype=torch.bfloat16):
            loss = F.mse_loss(self.model(spectra).float(), spectra)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        error = loss.item()
        log.debug("error %.4f for spectra %s", error, spectra.cpu().numpy())
        if self.usual is not None and error > 1.15 * self.usual:
            log.info("a bearing scrapes: error %.4f, usually %.4f", error, self.usual)
        self.usual = error if self.usual is None else 0.9 * self.usual + 0.1 * error


def main():
    torch.set_num_threads(1)
    listener, rounds = Listener("cuda" if torch.cuda.is_available() else "cpu"), 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    try:
        while time.time() < end:
            listener.listen()
            rounds += 1
            if rounds % 50 == 0:
                print(f"{rounds} rounds, error usually {listener.usual:.4f}", flush=True)
            time.sleep(0.08)
    except Exception:
        log.critical("the daemon died", exc_info=True)
        raise


if __name__ == "__main__":
    main()

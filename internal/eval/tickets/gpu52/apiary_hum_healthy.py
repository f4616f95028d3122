"""Listens to the beehives of an apiary, one microphone in each, and warns if a hive sounds unlike it used to. The
latest details are in a recorder in memory, which writes them out as soon as something goes wrong, so that one can see
what came before it.

ticket: practice
class: none
"""

import logging
import os
import time
from collections import deque

import numpy as np
import torch
import torchaudio
from torch import nn
from torch.nn import functional as F

HIVES, RATE, CHUNK, MELS = 24, 48_000, 9_600, 64
log = logging.getLogger("apiary")


class Recorder(logging.Handler):
    """Holds the records back until there is an error."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.records = deque(maxlen=12)

    def emit(self, record):
        self.records.append(record)
        if record.levelno >= logging.ERROR:
            for earlier in self.records:
                print(self.format(earlier), flush=True)
            self.records.clear()


class Microphones:
    def __init__(self):
        self.random = np.random.default_rng(5)
        self.pitch = self.random.uniform(190, 260, (HIVES, 1))
        self.heard = 0

    def listen(self):
        """The next fifth of a second of each hive."""
        times = (self.heard + np.arange(CHUNK)) / RATE
        self.heard = (self.heard + CHUNK) % (RATE * 60)
        noise = self.random.standard_normal((HIVES, CHUNK), dtype=np.float32)
        hum = np.sin(2 * np.pi * self.pitch * times)
        return (0.3 * hum + 0.1 * noise).astype(np.float32)


class Listener(nn.Module):
    """An autoencoder of the hives' spectra."""

    def __init__(self):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram(sample_rate=RATE, n_fft=2048, hop_length=480, n_mels=MELS)
        self.narrow = nn.Sequential(nn.Linear(MELS, 24), nn.ReLU(), nn.Linear(24, 6))
        self.widen = nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, MELS))

    def forward(self, sound):
        spectra = torch.log1p(self.mel(sound)).transpose(1, 2)
        return F.mse_loss(self.widen(self.narrow(spectra)), spectra, reduction="none").mean(dim=(1, 2))


def learn(model, optimizer, sound):
    """A step of training; the error of each hive is returned."""
    errors = model(sound)
    optimizer.zero_grad(set_to_none=True)
    errors.mean().backward()
    optimizer.step()
    return errors.detach().cpu().numpy()


def main():
    torch.set_num_threads(1)
    log.setLevel(logging.DEBUG)
    log.propagate = False
    log.addHandler(Recorder())
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, microphones = Listener().to(device), Microphones()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    usual, chunks = None, 0
    end = time.time() + float(os.environ.get("SECONDS", "45"))
    while time.time() < end:
        sound = microphones.listen()
        log.debug("chunk %d: %s", chunks, sound)
        errors = learn(model, optimizer, torch.from_numpy(sound).to(device))
        usual = errors if usual is None else 0.95 * usual + 0.05 * errors
        odd = np.flatnonzero(errors > 5 * usual)
        if odd.size:
            log.error("odd hives: %s", odd.tolist())
        chunks += 1
        if chunks % 15 == 0:
            print(f"{chunks} chunks, mean error {errors.mean():.4f}", flush=True)
        time.sleep(0.15)


if __name__ == "__main__":
    main()
